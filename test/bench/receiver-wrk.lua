-- Sends each signed notification of a file once. A line is: webhook-id timestamp signature bizId; the body is the same but for bizId.
local lines, tail
local sent = 0

function init(args)
  lines = io.open(args[1], 'r')
  tail = io.open(args[2], 'r'):read('*a')
  head = args[3]
end

function request()
  local line = lines:read('*l')
  if not line then
    sent = -1 -- used up: the run counts for nothing
    wrk.thread:stop()
    return wrk.format('GET', '/used-up')
  end
  local id, timestamp, signature, bizId = line:match('^(%S+) (%S+) (%S+) (%S+)$')
  local body = head .. bizId .. tail
  return 'POST /notify HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ' .. #body
    .. '\r\nwebhook-id: ' .. id .. '\r\nwebhook-timestamp: ' .. timestamp .. '\r\nwebhook-signature: ' .. signature
    .. '\r\nx-event-type: payment.success\r\nbestnotify-attempt: 1\r\n\r\n' .. body
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('RESULT {"requests":%d,"microseconds":%d,"p50us":%d,"p99us":%d,"failed":%d}\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
