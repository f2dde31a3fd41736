// The account of a run says what its time went to, and what twice of each resource would bring.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "models/kernels/step_account.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/measurements.h"

namespace kvsim::serving {

/// A TimePart is a share of the time, with what twice the resource behind it would bring.
struct TimePart {
  double share = 0;  ///< of the replicas' time
  /// How much faster the same iterations would have been with twice the resource: the time that passed over what they
  /// would have taken, each by its own account, less 1. In a closed loop whose users do not pause it is the gain in
  /// throughput, to first order. 0 where there is no resource; not a number where it is not known (kLinkInUse).
  double gain = 0;
};

/// A Bottleneck shares out the replicas' time; the shares add up to 1 where any was measured.
struct Bottleneck {
  TimePart hbm_bandwidth, compute, collectives, launches, host;  ///< in iterations, by what decides their length
  TimePart fixed;      ///< in iterations: fixed times of kernels, which no resource shortens
  TimePart link;       ///< waiting for a transfer
  TimePart front_end;  ///< without work while every thread that turns prompts into tokens was at work
  TimePart idle;       ///< nothing to do
  /// The share of the time in which the busiest link carried transfers that no iteration waited for: prompts and full
  /// KV that are loaded for some requests while others decode.
  double link_in_use = 0;
};

/// Above this `link_in_use` the gain of twice the link is not known: requests would join other iterations than those of
/// the account. Nor is any gain where stored prompts are loaded, or where the link never rests (kNeverRests).
inline constexpr double kLinkInUse = 0.1;

/// Returns the time of a group in iterations that the resource decided, seconds.
template <models::Resource resource>
double bound_s(const machine::GpuTime& time) {
  return time.bound_s[static_cast<std::size_t>(resource)];
}

struct TimePartName {
  std::string_view key;   ///< in documents
  std::string_view name;  ///< in tables
  std::string_view time;  ///< "share of the replicas' time ..."
  std::string_view more;  ///< "twice ..."; empty: there is nothing to have more of
  TimePart Bottleneck::*part;
  double (*seconds)(const machine::GpuTime&);
};

/// Every page and document lists the parts in this order.
inline constexpr std::array<TimePartName, 9> kTimeParts{{
    {"hbm_bandwidth", "HBM", "in iterations that memory bandwidth decided", "twice the bandwidth of GPU memory",
     &Bottleneck::hbm_bandwidth, bound_s<models::Resource::hbm_bandwidth>},
    {"compute", "compute", "in iterations that arithmetic decided", "twice the peak arithmetic rates",
     &Bottleneck::compute, bound_s<models::Resource::compute>},
    {"link", "link", "in which nothing could run until a transfer arrived", "links twice as fast", &Bottleneck::link,
     [](const machine::GpuTime& t) { return t.link.seconds(); }},
    {"collectives", "collectives", "in messages between the GPUs of a replica, which computing waited for",
     "messages between GPUs in half the time", &Bottleneck::collectives, bound_s<models::Resource::collectives>},
    {"launches", "launches", "that launching kernels and graphs decided",
     "kernels and graphs launched in half the time", &Bottleneck::launches, bound_s<models::Resource::launches>},
    {"host", "host", "in which the CPU scheduled iterations and sampled", "half the iteration overhead",
     &Bottleneck::host, bound_s<models::Resource::host>},
    {"front_end", "front end", "without work while every thread that turns prompts into tokens was at work",
     "prompts turned into tokens in half the time", &Bottleneck::front_end,
     [](const machine::GpuTime& t) { return t.front_end.seconds(); }},
    {"fixed", "fixed times", "in fixed times of kernels, which no resource shortens", "", &Bottleneck::fixed,
     [](const machine::GpuTime& t) { return t.fixed_s(); }},
    {"idle", "idle", "in which there was nothing to do", "", &Bottleneck::idle,
     [](const machine::GpuTime& t) { return t.idle.seconds(); }},
}};

/// Adds up the accounts of a run's iterations and what the run waited for.
[[nodiscard]] Bottleneck bottleneck(const Measurements& m);
/// A single step has no waiting.
[[nodiscard]] Bottleneck bottleneck(const models::StepAccount& account);

}  // namespace kvsim::serving
