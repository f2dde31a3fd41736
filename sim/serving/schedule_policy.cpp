#include "sim/serving/schedule_policy.h"

#include <algorithm>
#include <array>

namespace kvsim::serving {
namespace {

constexpr std::array kSchedulePolicies{
    SchedulePolicyEntry{"fcfs",
                        "continuous batching in order of arrival; a reload is asked for when its draft is complete",
                        false, true, make_fcfs},
    SchedulePolicyEntry{"lock_step", "all draft x tokens, then all reload and verify together", true, false,
                        make_lock_step},
    SchedulePolicyEntry{"sequential_verify", "all draft x tokens, then one verification an iteration", true, false,
                        make_sequential_verify},
    SchedulePolicyEntry{"staggered", "ADMIT: verifications spread over iterations by link and HBM rings", true, false,
                        make_staggered},
};

}  // namespace

std::span<const SchedulePolicyEntry> schedule_policies() {
  return kSchedulePolicies;
}

const SchedulePolicyEntry* find_schedule_policy(std::string_view name) {
  const auto it = std::find_if(kSchedulePolicies.begin(), kSchedulePolicies.end(),
                               [name](const SchedulePolicyEntry& p) { return p.name == name; });
  return it == kSchedulePolicies.end() ? nullptr : &*it;
}

}  // namespace kvsim::serving
