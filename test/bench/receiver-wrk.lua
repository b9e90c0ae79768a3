-- Sends each request of a file once. All are of one length, and their end is in a file of its own.
local starts, size, tail

function init(args)
  starts = io.open(args[1], 'rb')
  size = tonumber(args[2])
  tail = io.open(args[3], 'rb'):read('*a')
end

function request()
  local start = starts:read(size)
  if not start then
    wrk.thread:stop() -- used up: the run counts for nothing, which its number of requests shows
    return wrk.format('GET', '/used-up')
  end
  return start .. tail
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('RESULT {"requests":%d,"microseconds":%d,"p50us":%d,"p99us":%d,"failed":%d}\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
