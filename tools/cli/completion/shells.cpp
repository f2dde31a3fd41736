#include "tools/cli/completion/shells.h"

#include <algorithm>
#include <array>

#include "tools/cli/command_tree.h"

namespace kvsim::cli {

std::span<const Shell> shells() {
  static constexpr std::array<Shell, 3> kShells{{{"bash", "source <(kvsim completion bash)", bash_script},
                                                 {"zsh", "kvsim completion zsh > FOLDER_IN_FPATH/_kvsim", zsh_script},
                                                 {"fish", "kvsim completion fish | source", fish_script}}};
  return kShells;
}

std::string first_clause(const std::string& description) {
  const std::string text = on_one_line(description);
  std::size_t end = std::min(text.find("; "), text.size());
  for (std::size_t at = text.find(". "); at < end; at = text.find(". ", at + 1)) {
    if (at + 2 < text.size() && text[at + 2] >= 'A' && text[at + 2] <= 'Z') end = at;  // not "seed + 1, ... (run.x)"
  }
  return text.substr(0, end);
}

std::string escaped(std::string_view text, std::string_view special, std::string_view escape) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += escape;
    out += c;
  }
  return out;
}

}  // namespace kvsim::cli
