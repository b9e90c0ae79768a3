import { parser } from '@prometheus-io/lezer-promql';

/** What a PromQL expression asks of the metrics: their names, and the labels it matches or groups by. */
export interface Asked {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

/** @throws where the expression is none, with what is around the mistake. */
export function readPromql(expression: string): Asked {
  const metrics: string[] = [];
  const labels: string[] = [];
  parser.parse(expression).iterate({
    enter: ({ name, from, to, type, node }) => {
      if (type.isError) throw new SyntaxError(`No PromQL at "${expression.slice(Math.max(0, from - 10), to + 20)}".`);
      const text = expression.slice(from, to);
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') metrics.push(text);
      if (name === 'LabelName') labels.push(text);
    },
  });
  return { metrics, labels };
}
