import type { Place } from './describe-commands.js';

export type Shell = 'bash' | 'zsh' | 'fish';

/** A completion script for one shell: static, so that pressing tab starts no process. */
export function completionScript(shell: Shell, places: readonly Place[]): string {
  return { bash, zsh, fish }[shell](places);
}

const words = ({ subcommands, options }: Place) =>
  [...subcommands.map(({ name }) => name), ...options.map(({ flag }) => flag), '--help'].join(' ');

function casesOf(places: readonly Place[]): string {
  return places.map((place) => `    '${place.path}') words='${words(place)}' ;;`).join('\n');
}

function choicesOf(places: readonly Place[]): string {
  const choices = new Map(
    places
      .flatMap(({ options }) => options.filter((each) => each.choices.length > 0))
      .map((each) => [each.flag, each.choices]),
  );
  return [...choices]
    .map(([flag, values]) => `    ${flag}) COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$current")); return ;;`)
    .join('\n');
}

function bash(places: readonly Place[]): string {
  const known = places.map(({ path }) => `'${path}'`).join('|');
  return `# bash completion for bestnotify
_bestnotify() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' word
  case "$previous" in
${choicesOf(places)}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
    ${known}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${casesOf(places)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _bestnotify bestnotify
`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef bestnotify
# zsh completion for bestnotify
autoload -U +X bashcompinit && bashcompinit
${bash(places)}`;
}

function fish(places: readonly Place[]): string {
  const all = places.map(({ path }) => path).filter((path) => path !== '');
  const lines = places.flatMap(({ path, subcommands, options }) => {
    const deeper = all
      .filter((each) => each.startsWith(path === '' ? '' : `${path} `) && each !== path)
      .map((each) => each.split(' ').at(path === '' ? 0 : path.split(' ').length) ?? '');
    const seen =
      path === ''
        ? ''
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ');
    const not = deeper.length === 0 ? '' : `not __fish_seen_subcommand_from ${[...new Set(deeper)].join(' ')}`;
    const condition = [seen, not].filter(Boolean).join('; and ');
    return [
      ...subcommands.map(
        ({ name, summary }) => `complete -c bestnotify -f -n '${condition}' -a ${name} -d ${quote(summary)}`,
      ),
      ...options.map(
        ({ flag, summary, takesValue, choices }) =>
          `complete -c bestnotify -n '${seen}' -l ${flag.slice(2)} -d ${quote(summary)}${takesValue ? ' -r' : ''}${choices.length > 0 ? ` -f -a '${choices.join(' ')}'` : ''}`,
      ),
    ];
  });
  return `# fish completion for bestnotify\n${lines.map((line) => line.replace(" -n ''", '')).join('\n')}\n`;
}

function quote(text: string): string {
  return `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
}
