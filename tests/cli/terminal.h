// Runs kvsim as people do: with a terminal for its output.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kvsim::test {

/// What kvsim writes to a pseudo-terminal of `columns` columns, started in `folder`. `environment` is added to it.
std::string on_terminal(const std::vector<std::string>& arguments, const std::string& folder,
                        const std::map<std::string, std::string>& environment, unsigned short columns = 100);

}  // namespace kvsim::test
