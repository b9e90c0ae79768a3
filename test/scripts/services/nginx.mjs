import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort, startServer } from './child.mjs';
import { requireProgram } from './programs.mjs';

/**
 * nginx as a receiver that costs next to nothing: reads any request on any path and answers 200 with the word.
 *
 * `/sink-status` tells how many requests it has had.
 */
export async function startNginx({ scratchDir, progress }) {
  const program = await requireProgram({
    names: ['nginx'],
    debianPackage: 'nginx',
    otherwise: 'Install nginx: a sink written in JavaScript would be the limit of what is measured.',
    progress,
  });
  const dir = path.join(scratchDir, 'nginx');
  mkdirSync(dir);
  const port = await freePort();
  const configFile = path.join(dir, 'nginx.conf');
  writeFileSync(configFile, configuration(dir, port));
  const { stop } = await startServer(program, ['-p', dir, '-e', 'stderr', '-c', configFile], {
    ready: /start worker process \d/,
    stopSignals: ['SIGTERM'],
  });
  return { url: `http://127.0.0.1:${port}/`, stop };
}

function configuration(dir, port) {
  const temporaryFolders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes 1;
worker_rlimit_nofile 8192;
pid ${dir}/nginx.pid;
error_log stderr notice;
events { worker_connections 4096; }
http {
  access_log off;
  default_type text/plain;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_body_buffer_size 256k;
  ${temporaryFolders.map((name) => `${name}_temp_path ${dir}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location / { return 200 success; }
    location = /sink-status { stub_status; }
  }
}
`;
}
