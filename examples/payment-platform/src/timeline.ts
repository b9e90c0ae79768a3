/** Who speaks in the story. */
export type Voice = 'buyer' | 'platform' | 'merchant' | 'operator' | 'network';

const colours: Readonly<Record<Voice | 'title' | 'dim', string>> = {
  buyer: '36',
  platform: '34',
  merchant: '32',
  operator: '35',
  network: '31',
  title: '1',
  dim: '2',
};

/** Prints what happens as it happens: seconds since the start, who, to whom, what. Colour only on a terminal. */
export class Timeline {
  #startedAtMs = performance.now();
  readonly #isColourful = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;

  /** From here on times are counted. */
  start(): void {
    this.#startedAtMs = performance.now();
  }

  title(text: string): void {
    this.#write(`\n${this.#paint('title', text)}`);
  }

  /** The narrator explains. */
  note(text: string): void {
    for (const line of wrap(text, 100)) this.#write(`           ${this.#paint('dim', line)}`);
  }

  /** Somebody does something by themselves. */
  does(who: Voice, what: string): void {
    this.#line(`${this.#name(who)}             ${what}`);
  }

  /** Somebody says something to somebody. */
  says(who: Voice, to: Voice, what: string): void {
    this.#line(`${this.#name(who)} → ${this.#name(to)}  ${what}`);
  }

  plain(text = ''): void {
    this.#write(text);
  }

  #line(text: string): void {
    const seconds = (performance.now() - this.#startedAtMs) / 1000;
    this.#write(`${this.#paint('dim', `+${seconds.toFixed(2)} s`.padStart(9))}  ${text}`);
  }

  #name(voice: Voice): string {
    return this.#paint(voice, voice.padEnd(8));
  }

  #paint(what: keyof typeof colours, text: string): string {
    return this.#isColourful ? `\u001b[${colours[what]}m${text}\u001b[0m` : text;
  }

  #write(text: string): void {
    process.stdout.write(`${text}\n`);
  }
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
