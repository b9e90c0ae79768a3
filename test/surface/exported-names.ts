import path from 'node:path';
import ts from 'typescript';
import { root } from '../scripts/bootstrap.mjs';

/** What each specifier exports by its sources, types included: lines like `value createSender`, `type SenderOptions`. */
export function exportedNames(specifiers: readonly string[]): Map<string, string[]> {
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: { paths: Record<string, [string]> } };
  };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const files = new Map(specifiers.map((specifier) => [specifier, sourceOf(specifier, config.compilerOptions.paths)]));
  const program = ts.createProgram([...files.values()], options);
  const checker = program.getTypeChecker();
  return new Map(
    [...files].map(([specifier, file]) => {
      const source = program.getSourceFile(file);
      const symbol = source && checker.getSymbolAtLocation(source);
      if (!symbol) throw new Error(`${file} is not a module.`);
      return [
        specifier,
        checker
          .getExportsOfModule(symbol)
          .map((each) => describe(each, checker))
          .sort(),
      ];
    }),
  );
}

function sourceOf(specifier: string, paths: Readonly<Record<string, readonly [string]>>): string {
  const file = paths[specifier]?.[0];
  if (file === undefined) throw new Error(`tsconfig.json has no path for ${specifier}.`);
  return path.join(root, file);
}

function describe(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return `${target.flags & ts.SymbolFlags.Value ? 'value' : 'type'} ${symbol.name}`;
}
