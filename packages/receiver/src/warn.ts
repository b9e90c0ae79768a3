/** Something an operator wants to know and no request can be failed for. */
export interface Warning {
  /** Stable; listed in docs/errors.md. */
  code: string;
  message: string;
}

export type Warn = (warning: Warning) => void;

/** Node's own channel: printed once per code by default, `--no-warnings` silences it, `process.on('warning')` redirects it. */
export const emitWarning: Warn = ({ code, message }) => {
  process.emitWarning(message, { type: 'BestnotifyWarning', code });
};
