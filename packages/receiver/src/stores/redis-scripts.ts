import { createHash } from 'node:crypto';

/** One verb as a Lua script. `sha` is what `EVALSHA` takes. */
export interface Script {
  readonly verb: 'acquire' | 'renew' | 'complete' | 'release';
  readonly lua: string;
  readonly sha: string;
}

// A record is one string: state, digest, token, moment, fence, attempt. State R runs until the moment (its lease); D is done since
// then; F is free again after a failure. The key's own expiry is the retention in every state, so that digest, attempts and fence
// outlive a crash, and the lease is only a field. A guard is: token, lease end, newest finished sequence, fence.
//
// Every script takes a list of requests and answers one string for each, so that requests that arrive together cost one command.
// A fault of the server (READONLY, OOM, …) fails the whole command, so that the client sees it; a foreign value under one key fails
// only the request for that key.
const prelude = `
local clock = redis.call('TIME')
local nowMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
local nowUs = clock[1] * 1000000 + clock[2]
local function int(n) return string.format('%.0f', n) end
local function read(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  local state, digest, token, at, fence, attempt = string.match(raw, '^([RFD]) (%x+) (%S+) (%d+) (%d+) (%d+)$')
  if not state then error('FOREIGN the key holds something that is not a record') end
  return { state = state, digest = digest, token = token, at = tonumber(at), fence = tonumber(fence), attempt = tonumber(attempt) }
end
local function write(key, state, digest, token, at, fence, attempt, keepMs)
  redis.call('SET', key, table.concat({ state, digest, token, int(at), int(fence), int(attempt) }, ' '), 'PX', keepMs)
end
local leaseMs, keepMs = tonumber(ARGV[1]), ARGV[2]
local sequence = ARGV[3]
local guardKey = sequence ~= '' and KEYS[2] or nil
local function readGuard()
  local raw = redis.call('GET', guardKey)
  if not raw then return nil end
  local token, at, done, fence = string.match(raw, '^(%S+) (%d+) (%S+) (%d+)$')
  if not token then error('FOREIGN the key holds something that is not a guard') end
  return { token = token, at = tonumber(at), done = done, fence = tonumber(fence) }
end
local function writeGuard(token, at, done, fence, keepMs)
  redis.call('SET', guardKey, table.concat({ token, int(at), done, int(fence) }, ' '), 'PX', keepMs)
end
`;

const epilogue = `
local answers = {}
local count = guardKey and 1 or #KEYS
for i = 1, count do
  local ok, answer = pcall(decide, KEYS[i], ARGV[2 + i * 2], ARGV[3 + i * 2])
  if not ok then
    if type(answer) == 'table' then answer = answer.err or 'unknown' end
    answer = tostring(answer)
    if not (string.find(answer, 'FOREIGN', 1, true) or string.find(answer, 'WRONGTYPE', 1, true)) then
      return redis.error_reply((string.gsub(answer, '^%-', '')))
    end
    answer = 'E ' .. answer
  end
  answers[i] = answer
end
return answers
`;

function script(verb: Script['verb'], decide: string): Script {
  const lua = `${prelude}local function decide(key, digest, token)\n${decide}end\n${epilogue}`;
  return { verb, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** A record's fence grows even when the record was lost in between, because it is never below the server's clock in microseconds. */
export const acquireScript = script(
  'acquire',
  `
  local r = read(key)
  if r then
    if r.digest ~= digest then return 'C' end
    if r.state == 'D' then return 'D' end
    if r.state == 'R' and r.token ~= token and r.at > nowMs then return 'B ' .. int(r.at - nowMs) end
  end
  local mine = r and r.state == 'R' and r.token == token
  local fence = mine and r.fence or math.max(r and r.fence + 1 or 0, nowUs)
  local leaseEnd = nowMs + leaseMs
  if guardKey then
    local g = readGuard()
    if g then
      if g.done ~= '-' and tonumber(g.done) > tonumber(sequence) then return 'S' end
      if g.token ~= '-' and g.token ~= token and g.at > nowMs then return 'B ' .. int(g.at - nowMs) end
      if not mine then fence = math.max(fence, g.fence + 1) end
    end
    writeGuard(token, leaseEnd, g and g.done or '-', fence, keepMs)
  end
  local attempt = (r and r.attempt or 0) + (mine and 0 or 1)
  write(key, 'R', digest, token, leaseEnd, fence, attempt, keepMs)
  return 'A ' .. int(attempt) .. ' ' .. int(fence)
`,
);

export const renewScript = script(
  'renew',
  `
  local r = read(key)
  if not r or r.state ~= 'R' or r.token ~= token then return '0' end
  local leaseEnd = nowMs + leaseMs
  if guardKey then
    local g = readGuard()
    if not g or g.token ~= token then return '0' end
    writeGuard(token, leaseEnd, g.done, g.fence, keepMs)
  end
  write(key, 'R', digest, token, leaseEnd, r.fence, r.attempt, keepMs)
  return '1'
`,
);

/** Needs no ownership: the handler did finish, so writing that down can only prevent another run. */
export const completeScript = script(
  'complete',
  `
  local r = read(key)
  if r and r.digest ~= digest then return 'C' end
  if not r or r.state ~= 'D' then
    write(key, 'D', digest, '-', nowMs, r and r.fence or nowUs, r and r.attempt or 1, keepMs)
  end
  if guardKey then
    local g = readGuard()
    local newest = sequence
    if g and g.done ~= '-' and tonumber(g.done) > tonumber(sequence) then newest = g.done end
    if not g or g.token == token then
      writeGuard('-', 0, newest, g and g.fence or nowUs, keepMs)
    else
      writeGuard(g.token, g.at, newest, g.fence, keepMs)
    end
  end
  return 'D'
`,
);

export const releaseScript = script(
  'release',
  `
  if guardKey then
    local g = readGuard()
    if g and g.token == token then writeGuard('-', 0, g.done, g.fence, keepMs) end
  end
  local r = read(key)
  if not r or r.state ~= 'R' or r.token ~= token then return '0' end
  write(key, 'F', digest, '-', 0, r.fence, r.attempt, keepMs)
  return '1'
`,
);
