#include <array>

#include "tools/cli/command.h"

// One line per command, in the order of `kvsim --help`.
#define KVSIM_COMMANDS(X) \
  X(run)                  \
  X(compare)              \
  X(sweep)                \
  X(plan)                 \
  X(capacity)             \
  X(report)               \
  X(check)                \
  X(list)                 \
  X(show)                 \
  X(schema)               \
  X(workload)             \
  X(validate)             \
  X(calibrate)            \
  X(completion)           \
  X(man)

namespace kvsim::cli {

#define X(name) extern const Command name##_command;
KVSIM_COMMANDS(X)
#undef X

std::span<const Command* const> commands() {
#define X(name) &name##_command,
  static constexpr std::array kAll{KVSIM_COMMANDS(X)};
#undef X
  return kAll;
}

}  // namespace kvsim::cli
