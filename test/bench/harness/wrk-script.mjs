/** Requests as one file that Lua reads without parsing: each as its length in bytes, a newline, the bytes. */
export function frame(requests) {
  return Buffer.concat(requests.flatMap((request) => [Buffer.from(`${request.length}\n`), request]));
}

/** Every thread sends its own share of the file; the counts come back as one line of JSON. */
export function script(requestsFile, threads) {
  return `
local number = 0
local all = {}
function setup(thread)
  thread:set('number', number)
  number = number + 1
  table.insert(all, thread)
end

function init(args)
  own, sent = {}, 0
  local file = assert(io.open('${requestsFile}', 'rb'))
  local index = 0
  while true do
    local length = file:read('*l')
    if not length then break end
    local request = file:read(tonumber(length))
    if index % ${threads} == number then table.insert(own, request) end
    index = index + 1
  end
  file:close()
  owned = #own
end

function request()
  sent = sent + 1
  return own[(sent - 1) % owned + 1]
end

function done(summary, latency)
  local repeated = false
  for _, thread in ipairs(all) do
    if thread:get('sent') > thread:get('owned') then repeated = true end
  end
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"micros":%d,"p50Micros":%d,"p99Micros":%d,"badStatuses":%d,"socketErrors":%d,"isRepeated":%s}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, tostring(repeated)))
end
`;
}
