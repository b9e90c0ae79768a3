export interface Services {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly sinkUrl: string;
  /** A folder that goes away with the services. */
  readonly scratchDir: string;
  stop(): Promise<void>;
}

export interface ServicesOptions {
  durable?: boolean;
  only?: readonly ('postgres' | 'redis' | 'sink')[];
  onProgress?: (line: string) => void;
}

export function startServices(options?: ServicesOptions): Promise<Services>;
