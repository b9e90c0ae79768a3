export interface PgBouncerOptions {
  /** The server behind it. */
  databaseUrl: string;
  /** A folder for its own one. */
  scratchDir: string;
  /** How many connections to the server all clients share. */
  serverConnections: number;
  progress?: (line: string) => void;
}

export function startPgBouncer(
  options: PgBouncerOptions,
): Promise<{ url: string; stop(): Promise<void> } | { reason: string }>;
