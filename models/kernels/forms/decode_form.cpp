#include "models/kernels/forms/decode_form.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {

FormTime DecodeForm::time(const DecodeCall& call, const Machine& machine, bool read_before) const {
  const bool warm = read_before || hits_in_serving;
  constexpr double kShortKv = 1024;
  const double fixed_s =
      t0_s + per_doubling_s * std::log2(1 + call.mean_kv / kShortKv) + per_head_s * call.requests * call.heads;
  const double miss = warm ? stream.miss_share(call.kv_bytes, machine) : 1;
  double stream_s = stream.seconds(call.kv_bytes, machine, !warm) + miss * cold_s * machine.latency_scale;
  stream_s += uneven_s(call, machine);
  return {fixed_s * machine.latency_scale + stream_s, true};
}

double DecodeForm::uneven_s(const DecodeCall& call, const Machine& machine) const {
  if (call.longest_kv <= call.mean_kv || call.mean_kv <= 0) return 0;
  constexpr double kMeasured = 16;  // no batch was measured with a longer request than this many means
  const double longer = call.kv_bytes * (std::min(call.longest_kv / call.mean_kv, kMeasured) - 1);
  return uneven_share * longer / (stream.bandwidth_efficiency * machine.memory_bytes_per_s);
}

}  // namespace kvsim::models
