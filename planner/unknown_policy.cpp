#include "planner/unknown_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"

namespace kvsim::planner {

void unknown_policy(const std::string& kind, const std::string& name, const std::string& where,
                    const std::vector<std::string>& names) {
  const std::string near = schema::nearest(name, names);
  throw schema::InputError(fmt::format("--policies: unknown {} \"{}\"{}, expected {}{}", kind, name, where,
                                       near.empty() ? "one of " : fmt::format("{} or another of ", near),
                                       fmt::join(names, ", ")));
}

}  // namespace kvsim::planner
