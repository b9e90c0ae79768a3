import type { Endpoint, Sender } from '@bestnotify/sender';
import ipaddr from 'ipaddr.js';
import { lookup } from 'node:dns/promises';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describeError, type Finding } from './finding.js';

const maxEndpoints = 100;
const connectTimeoutMs = 5_000;
const atOnce = 10;

/** Whether the endpoints can be reached from this host. Only connections are made; nothing is sent. */
export async function checkAddresses(sender: Sender, only: string | undefined): Promise<Finding[]> {
  const listed = await sender.endpoints.list({ limit: maxEndpoints, ...(only !== undefined && { ids: [only] }) });
  const endpoints = listed.filter(({ url }) => url !== null);
  if (only !== undefined && listed.length === 0) {
    return [
      { check: 'address', result: 'fail', message: `${only} is no endpoint`, next: 'See bestnotify endpoints list.' },
    ];
  }
  const findings: Finding[] = [];
  for (let from = 0; from < endpoints.length; from += atOnce) {
    findings.push(...(await Promise.all(endpoints.slice(from, from + atOnce).map(checkEndpoint))));
  }
  if (listed.length === maxEndpoints) {
    const message = `only the first ${maxEndpoints} endpoints were looked at`;
    findings.push({ check: 'address', result: 'warn', message, next: 'Look at one with --endpoint.' });
  }
  return findings;
}

async function checkEndpoint({ id, url, allowPrivateNetwork }: Endpoint): Promise<Finding> {
  const { protocol, hostname, port } = new URL(url ?? '');
  const host = hostname.replace(/^\[|\]$/g, '');
  try {
    const addresses = await lookup(host, { all: true });
    const inside = addresses.find(({ address }) => ipaddr.process(address).range() !== 'unicast');
    if (inside !== undefined && allowPrivateNetwork.length === 0) {
      const message = `${id}: ${host} is ${inside.address}, which is not a public address`;
      return {
        check: 'address',
        result: 'fail',
        message,
        next: 'The sender refuses it unless the endpoint and the sender allow that network.',
      };
    }
    const [first] = addresses;
    if (first === undefined) throw new Error(`${host} has no address`);
    const isTls = protocol === 'https:';
    await reach({ address: first.address, host, isTls, port: Number(port) || (isTls ? 443 : 80) });
    return { check: 'address', result: 'ok', message: `${id}: ${host} (${first.address}) can be reached` };
  } catch (error) {
    const message = `${id}: ${host} cannot be reached: ${describeError(error)}`;
    return {
      check: 'address',
      result: 'warn',
      message,
      next: 'Ask the merchant, or check the firewall and DNS of this host.',
    };
  }
}

function reach(to: { address: string; host: string; isTls: boolean; port: number }): Promise<void> {
  const { address, host, isTls, port } = to;
  return new Promise((resolve, reject) => {
    const isName = ipaddr.isValid(host) ? {} : { servername: host };
    const socket: Socket = isTls ? connectTls({ host: address, port, ...isName }) : connectTcp({ host: address, port });
    const end = (error?: Error) => {
      clearTimeout(timer);
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    const timer = setTimeout(() => end(new Error(`no connection within ${connectTimeoutMs} ms`)), connectTimeoutMs);
    socket.once(isTls ? 'secureConnect' : 'connect', () => end());
    socket.once('error', end);
  });
}
