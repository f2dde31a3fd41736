#include "tools/calibrate/host/output_folder.h"

#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "models/schema/error.h"

namespace kvsim::calibrate {

OutputFolder::OutputFolder(const std::string& path, bool force) : path_(path) {
  std::error_code error;
  if (std::filesystem::exists(path_, error)) {
    if (!std::filesystem::is_directory(path_, error)) {
      throw schema::InputError(fmt::format("--out {}: is there and no folder", path));
    }
    const bool empty = std::filesystem::is_empty(path_, error);
    if (error) throw schema::InputError(fmt::format("--out {}: {}", path, error.message()));
    if (!empty && !force) {
      throw schema::InputError(
          fmt::format("--out {}: the folder is not empty; name another one, or add --force", path));
    }
    return;
  }
  std::filesystem::create_directories(path_, error);
  if (error) throw schema::InputError(fmt::format("--out {}: {}", path, error.message()));
}

void OutputFolder::write(const std::string& name, std::string_view text) const {
  const std::filesystem::path target = path_ / name;
  const std::filesystem::path unfinished = path_ / (name + ".unfinished");
  std::error_code error;
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) {
      std::filesystem::remove(unfinished, error);
      throw std::runtime_error(fmt::format("cannot write {}", target.string()));
    }
  }
  std::filesystem::rename(unfinished, target, error);
  if (error) throw std::runtime_error(fmt::format("cannot write {}: {}", target.string(), error.message()));
}

}  // namespace kvsim::calibrate
