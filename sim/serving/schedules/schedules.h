// The factories of the schedule policies, one file each beside this header.
#pragma once

#include <memory>

#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {

std::unique_ptr<SchedulePolicy> make_fcfs(const ScheduleConfig& config);
std::unique_ptr<SchedulePolicy> make_lock_step(const ScheduleConfig& config);
std::unique_ptr<SchedulePolicy> make_sequential_verify(const ScheduleConfig& config);
std::unique_ptr<SchedulePolicy> make_staggered(const ScheduleConfig& config);

}  // namespace kvsim::serving
