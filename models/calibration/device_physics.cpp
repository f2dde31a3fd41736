// Rows of kvsim-calibrate's tables of a device that cannot be true.
#include <tuple>

#include "models/calibration/device_fits.h"
#include "models/calibration/row_checks.h"

namespace kvsim::models {
namespace {

std::string implied(const MemorySample& row, const Machine& machine) {
  std::string reason = bad_size({{"bytes", row.bytes}});
  if (!reason.empty()) return reason;
  if (!row.cold) return above_bandwidth(row.bytes - machine.l2_bytes, row.seconds, machine, kFastestCache);
  // Written bytes may stay in L2.
  const double written = row.kind == "read" ? 0 : machine.l2_bytes;
  return above_bandwidth(row.bytes - written, row.seconds, machine);
}

std::string implied(const CopySample& row, const Machine& machine) {
  std::string reason = bad_size({{"bytes", row.bytes}});
  return reason.empty() ? above_bandwidth(row.bytes, row.seconds, machine) : reason;
}

std::string implied(const GatherSample& row, const Machine& machine) {
  std::string reason = bad_size({{"rows", row.rows}, {"row_bytes", row.row_bytes}});
  return reason.empty() ? above_bandwidth(row.rows * row.row_bytes, row.seconds, machine) : reason;
}

std::string implied(const TopKSample& row, const Machine& machine) {
  std::string reason = bad_size({{"rows", row.rows}, {"columns", row.columns}, {"k", row.k}});
  if (!reason.empty()) return reason;
  if (row.k > row.columns) return fmt::format("the {:.0f} largest of {:.0f}", row.k, row.columns);
  constexpr double kScoreBytes = 4;
  return above_bandwidth(kScoreBytes * row.rows * row.columns, row.seconds, machine);
}

std::string implied(const QuantiseSample& row, const Machine& machine) {
  std::string reason =
      bad_size({{"bits", row.bits}, {"bytes_full", row.full_bytes}, {"bytes_packed", row.packed_bytes}});
  if (!reason.empty()) return reason;
  if (row.packed_bytes >= row.full_bytes) {
    return fmt::format("{:.0f} bytes packed of {:.0f}: quantising makes them fewer", row.packed_bytes, row.full_bytes);
  }
  return above_bandwidth(row.back ? row.packed_bytes : row.full_bytes, row.seconds, machine);  // what is read
}

std::string implied(const LaunchSample& row, const Machine& /*machine*/) {
  constexpr double kLongestLaunch = 0.1;
  return row.seconds > kLongestLaunch ? fmt::format("{:.3g} s: no launch takes that long", row.seconds) : "";
}

std::string implied(const InterferenceSample& row, const Machine& machine) {
  std::string reason = bad_size({{"bytes", row.bytes}});
  if (reason.empty()) reason = bad_time(row.alone_s);
  if (reason.empty()) reason = above_bandwidth(row.bytes, row.alone_s, machine);
  if (!reason.empty()) return reason;
  constexpr double kFaster = 0.9;  // what repeats differ by
  constexpr double kMuchSlower = 10;
  const double slowdown = row.seconds / row.alone_s;
  if (slowdown < kFaster) return fmt::format("{:.3g} of the time alone: nothing is sped up by sharing", slowdown);
  if (slowdown > kMuchSlower) return fmt::format("{:.3g} times the time alone", slowdown);
  return {};
}

std::string implied(const StorageSample& row, const Machine& machine) {
  const std::string reason = bad_size({{"threads", row.threads}, {"bytes", row.bytes}});
  return reason.empty() ? above_bandwidth(row.threads * row.bytes, row.seconds, machine) : reason;
}

std::string implied(const HostMemorySample& row, const Machine& /*machine*/) {
  return bad_size({{"threads", row.threads}, {"bytes", row.bytes}});
}

std::string implied(const AttentionVariant& row, const Machine& machine) {
  const DecodeSample& d = row.decode;
  std::string reason = bad_size({{"heads", d.shape.heads},
                                 {"KV heads", d.shape.kv_heads},
                                 {"head size", d.shape.head_dim},
                                 {"requests", d.requests},
                                 {"tokens of KV", d.kv_length},
                                 {"query tokens", row.query_tokens},
                                 {"longest KV", row.longest_kv},
                                 {"bytes of KV", row.bytes_read}});
  if (!reason.empty()) return reason;
  if (std::fmod(d.shape.heads, d.shape.kv_heads) != 0) {
    return fmt::format("{:.0f} heads cannot share {:.0f} KV heads evenly", d.shape.heads, d.shape.kv_heads);
  }
  if (row.query_tokens > d.kv_length) {
    return fmt::format("{:.0f} query tokens of {:.0f} of KV, which holds them", row.query_tokens, d.kv_length);
  }
  if (row.longest_kv < d.kv_length) {
    return fmt::format("the longest KV has {:.0f} tokens, the mean {:.0f}", row.longest_kv, d.kv_length);
  }
  return above_bandwidth(row.bytes_read, row.seconds, machine);
}

auto work(const MemorySample& r) {
  return std::tuple(r.kind, r.cold, r.bytes);
}
auto work(const CopySample& r) {
  return std::tuple(r.to_gpu, r.both_ways, r.bytes);
}
auto work(const GatherSample& r) {
  return std::tuple(r.method, r.rows, r.row_bytes);
}
auto work(const TopKSample& r) {
  return std::tuple(r.rows, r.columns, r.k);
}
auto work(const QuantiseSample& r) {
  return std::tuple(r.back, r.bits, r.full_bytes);
}
auto work(const LaunchSample& r) {
  return r.what;
}
auto work(const InterferenceSample& r) {
  return std::tuple(r.kernel, r.to_gpu, r.kind, r.bytes);
}
auto work(const StorageSample& r) {
  return std::tuple(r.write, r.threads, r.bytes);
}
auto work(const HostMemorySample& r) {
  return std::tuple(r.kind, r.threads, r.bytes);
}
auto work(const AttentionVariant& r) {
  const DecodeSample& d = r.decode;
  return std::tuple(d.kv, d.shape.heads, d.shape.kv_heads, d.shape.head_dim, d.requests, d.kv_length, r.query_tokens,
                    r.longest_kv, r.kv_bits, r.keys_by_channel);
}

constexpr auto kImplied = [](const auto& row, const Machine& machine) { return implied(row, machine); };
constexpr auto kWork = [](const auto& row) { return work(row); };

}  // namespace

void refuse_impossible(DeviceSamples& samples, const Machine& machine, std::vector<RefusedRow>& refused) {
  std::apply([&](auto... table) { (refuse_rows(samples.*table, machine, refused, kImplied, kWork), ...); },
             kDeviceTables);
}

void refuse_impossible(std::vector<AttentionVariant>& rows, const Machine& machine, std::vector<RefusedRow>& refused) {
  refuse_rows(rows, machine, refused, kImplied, kWork);
}

std::vector<std::string> throttled_in(const DeviceSamples& samples, std::vector<std::string>& warnings) {
  std::vector<std::string> throttled;
  for (const DeviceStateSample& s : samples.states) {
    if (s.throttled_share > 0) {
      throttled.push_back(s.benchmark);
      std::string clocks = fmt::format("SM clock {:.0f} MHz", s.sm_clock_mhz);
      if (s.most_sm_clock_mhz > 0) clocks += fmt::format(" of {:.0f}", s.most_sm_clock_mhz);
      warnings.push_back(
          fmt::format("{}: the GPU throttled ({}) for {:.0f} % of the time, {}; its times "
                      "are slower than those of a card that does not",
                      s.benchmark, s.throttled_by, 100 * s.throttled_share, clocks));
    }
    if (s.other_processes > 0) {
      warnings.push_back(fmt::format("{}: {:.0f} other processes computed on the GPU", s.benchmark, s.other_processes));
    }
  }
  return throttled;
}

}  // namespace kvsim::models
