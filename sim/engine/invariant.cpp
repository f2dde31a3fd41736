#include "sim/engine/invariant.h"

#include <string>

namespace kvsim::engine {

void fail_invariant(const char* condition, std::string_view message, const char* file, int line) {
  std::string_view where(file);
  where.remove_prefix(where.find_last_of('/') + 1);  // npos + 1 = 0 where there is no slash
  std::string text(where);
  text.append(":").append(std::to_string(line)).append(": ").append(message);
  text.append(" (").append(condition).append(")");
  throw InvariantViolation(text);
}

}  // namespace kvsim::engine
