#include "tools/validation/measured_folder.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "models/schema/error.h"

namespace kvsim::validation {
namespace {

namespace fs = std::filesystem;

std::string existing(const std::string& folder, const char* named_by) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  throw schema::InputError(fmt::format("{}: {} is no folder, expected one with measured data", named_by, folder));
}

}  // namespace

std::string measured_folder(const std::string& asked, const std::string& start) {
  if (!asked.empty()) return existing(asked, "--measured");
  const char* const variable = std::getenv("KVSIM_MEASURED");  // NOLINT(concurrency-mt-unsafe): before any thread
  if (variable != nullptr && *variable != '\0') return existing(variable, "KVSIM_MEASURED");
  std::error_code error;
  for (fs::path at = fs::absolute(start, error).lexically_normal();; at = at.parent_path()) {
    const fs::path candidate = at / "shared" / "measured";
    if (fs::is_directory(candidate, error)) return candidate.string();
    if (at == at.parent_path()) return {};
  }
}

}  // namespace kvsim::validation
