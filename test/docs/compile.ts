import path from 'node:path';
import ts from 'typescript';
import { root } from '../scripts/bootstrap.mjs';

/**
 * Compiles programs as if each were a file of this folder, so that they find our packages' sources and what is installed
 * for tests.
 *
 * @returns the errors of each program that has some, by its name.
 */
export function compileErrors(programs: readonly { name: string; text: string }[]): Map<string, string[]> {
  const { options } = ts.parseJsonConfigFileContent({ extends: './tsconfig.json', files: [] }, ts.sys, root);
  const texts = new Map(programs.map(({ name, text }) => [path.join(import.meta.dirname, `${name}.mts`), text]));
  // A reader's program may keep a name for later, and reads the environment as most programs do.
  const lenient = {
    ...options,
    noUnusedLocals: false,
    noUnusedParameters: false,
    noPropertyAccessFromIndexSignature: false,
  };
  const host = ts.createCompilerHost(lenient);
  const withTexts: ts.CompilerHost = {
    ...host,
    fileExists: (file) => texts.has(file) || host.fileExists(file),
    readFile: (file) => texts.get(file) ?? host.readFile(file),
    getSourceFile(file, languageVersion, ...rest) {
      const text = texts.get(file);
      if (text === undefined) return host.getSourceFile(file, languageVersion, ...rest);
      return ts.createSourceFile(file, text, languageVersion);
    },
  };
  const program = ts.createProgram([...texts.keys()], lenient, withTexts);
  const errors = new Map<string, string[]>();
  for (const file of texts.keys()) {
    const source = program.getSourceFile(file);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    if (found.length > 0) errors.set(path.parse(file).name, found.map(describe));
  }
  return errors;
}

function describe({ file, start = 0, messageText }: ts.Diagnostic): string {
  const line = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
  return `line ${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
}
