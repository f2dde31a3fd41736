// A fitted profile as a catalogue file that `include` reads.
#pragma once

#include <string>

#include "models/kernels/profile.h"

namespace kvsim::models {

/// "profiles:" and the entry below its name. Numbers have 4 significant digits, times their units.
[[nodiscard]] std::string profile_yaml(const KernelProfile& profile);

}  // namespace kvsim::models
