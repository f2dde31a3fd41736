#include "tools/cli/numbers_from_user.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace kvsim::cli {

CLI::Option* add_whole_number(CLI::App& app, const std::string& name, std::int64_t least, std::int64_t most,
                              const std::function<void(std::int64_t)>& use, const std::string& description) {
  const auto read = [=](const std::string& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc{} || stopped != end || value < least || value > most) {
      const bool bounded = most != std::numeric_limits<std::int64_t>::max();
      const std::string range =
          bounded ? fmt::format("from {} to {}", least, most) : fmt::format("of at least {}", least);
      throw CLI::ValidationError(name, fmt::format("expected a whole number {}, found \"{}\"", range, text));
    }
    use(value);
  };
  return app.add_option_function<std::string>(name, read, description)->type_name("N");
}

}  // namespace kvsim::cli
