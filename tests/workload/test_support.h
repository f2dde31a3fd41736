// Streams and error texts for the workload tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "models/schema/error.h"
#include "models/workload/distributions.h"
#include "models/workload/trace_reader.h"
#include "sim/engine/random.h"

namespace kvsim::models {

inline std::unique_ptr<RandomSource> stream(std::string_view name, std::uint64_t seed = 1) {
  return std::make_unique<RandomSourceOf<engine::RandomStream>>(engine::RandomStream(seed, name));
}

/// The message with which reading this text as a trace fails; "(read)" if it does not.
inline std::string error_of(std::string_view format, std::string_view text, const TraceOptions& options = {}) {
  try {
    read_trace_text(find_trace_format(format), "t", text, options);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(read)";
}

/// The message with which an action fails; "(done)" if it does not.
template <class Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(done)";
}

}  // namespace kvsim::models
