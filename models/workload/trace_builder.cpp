#include "models/workload/trace_builder.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "models/schema/si.h"
#include "models/workload/limits.h"

namespace kvsim::models {
namespace {

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / kNsPerSecond;
}

}  // namespace

std::int64_t to_arrival_ns(double value, double ns_per_unit) {
  const double ns = std::round(value * ns_per_unit);
  if (!(ns >= 0)) return -1;
  return ns <= static_cast<double>(max_arrival_ns) ? static_cast<std::int64_t>(ns) : max_arrival_ns + 1;
}

TraceBuilder::TraceBuilder(const LineReader& lines, const TraceOptions& options) : lines_(lines), options_(options) {
  if (!(options_.time_scale >= 1e-6 && options_.time_scale <= 1e6)) {
    throw schema::InputError(fmt::format("time_scale is {}, expected 1e-06 to 1e+06", options_.time_scale));
  }
}

void TraceBuilder::check_tokens(std::string_view field, std::int64_t tokens, std::size_t byte) const {
  if (tokens < 1 || tokens > max_request_tokens) {
    lines_.fail(byte, fmt::format("{} is {}, expected 1 to {} tokens", field, tokens, max_request_tokens));
  }
}

void TraceBuilder::add(std::int64_t arrival_ns, std::size_t byte, std::int64_t prompt_tokens,
                       std::int64_t output_tokens, std::vector<std::uint64_t> prefix_blocks) {
  if (arrival_ns < 0 || arrival_ns > max_arrival_ns) {
    lines_.fail(byte,
                "the request arrives before the trace's start or a hundred years after it, expected a time since "
                "the start");
  }
  if (arrival_ns < last_ns_) {
    lines_.fail(byte, fmt::format("the request arrives {:.9g} s after the start, {:.9g} s before the one above it, "
                                  "expected requests in order of arrival",
                                  seconds(arrival_ns), seconds(last_ns_ - arrival_ns)));
  }
  last_ns_ = arrival_ns;
  RequestSpec request;
  request.id = requests_.size();
  request.arrival_ns = arrival_ns;
  if (options_.time_scale != 1.0) {
    request.arrival_ns = to_arrival_ns(static_cast<double>(arrival_ns), options_.time_scale);
    if (request.arrival_ns > max_arrival_ns) {
      lines_.fail(byte, fmt::format("with time_scale {} the request arrives after a hundred years, expected a smaller "
                                    "time_scale",
                                    options_.time_scale));
    }
  }
  request.prompt_tokens = prompt_tokens;
  request.output_tokens = output_tokens;
  request.prefix_blocks = std::move(prefix_blocks);
  requests_.push_back(std::move(request));
}

}  // namespace kvsim::models
