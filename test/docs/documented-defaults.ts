import ts from 'typescript';

/** One key of an exported `…Defaults` object, and what the docstring of the option of that name says. */
export interface DocumentedDefault {
  readonly object: string;
  readonly option: string;
  /** The text after `@default`; `undefined` when the option has none. */
  readonly documented: string | undefined;
}

/** Pairs each exported `…Defaults` object of a source file with the interface in it that declares those options. */
export function documentedDefaults(file: string, text: string): DocumentedDefault[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const interfaces = source.statements.filter(ts.isInterfaceDeclaration);
  return defaultsObjects(source).flatMap(({ object, keys }) => {
    // The one that declares most of them: a few may be inherited.
    const count = (each: ts.InterfaceDeclaration) => keys.filter((key) => propertyOf(each, key)).length;
    const owner = interfaces.toSorted((a, b) => count(b) - count(a))[0];
    if (!owner) throw new Error(`${file} exports ${object}, but no interface declares its options.`);
    return keys.map((option) => ({ object, option, documented: defaultTag(propertyOf(owner, option)) }));
  });
}

function defaultsObjects(source: ts.SourceFile): { object: string; keys: string[] }[] {
  return source.statements
    .filter(ts.isVariableStatement)
    .flatMap((statement) => statement.declarationList.declarations)
    .map((declaration) => ({ object: declaration.name.getText(), literal: literalOf(declaration.initializer) }))
    .filter(({ object }) => object.endsWith('Defaults'))
    .map(({ object, literal }) => ({
      object,
      keys: literal?.properties.map((property) => property.name?.getText() ?? '') ?? [],
    }));
}

/** The object itself, whatever `as const` and `satisfies` stand around it. */
function literalOf(expression: ts.Expression | undefined): ts.ObjectLiteralExpression | undefined {
  if (expression === undefined || ts.isObjectLiteralExpression(expression)) return expression;
  if (ts.isAsExpression(expression) || ts.isSatisfiesExpression(expression)) return literalOf(expression.expression);
  return undefined;
}

function propertyOf(owner: ts.InterfaceDeclaration, name: string): ts.TypeElement | undefined {
  return owner.members.find((member) => member.name?.getText() === name);
}

function defaultTag(property: ts.TypeElement | undefined): string | undefined {
  const tag = property && ts.getJSDocTags(property).find(({ tagName }) => tagName.text === 'default');
  return tag && (ts.getTextOfJSDocComment(tag.comment) ?? '').trim();
}
