// The text of a folder's manifest, and what it lists.
#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/error.h"
#include "tools/output/results_folder.h"

namespace kvsim::output {
namespace {

using Json = nlohmann::ordered_json;

/// Names that lead out of the folder are no names of its files.
std::string file_name(const Json& json) {
  std::string name = json;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    throw std::invalid_argument("no file of the folder");
  }
  return name;
}

}  // namespace

Manifest parsed_manifest(const std::string& path, const std::string& text) {
  try {
    Manifest manifest;
    const Json json = Json::parse(text);
    for (const Json& one : json.at("sets")) {
      FileSet& set = manifest.sets.emplace_back();
      for (const Json& file : one.at("files")) {
        FileSet::File& entry = set.files.emplace_back();
        entry.name = file_name(file.at("name"));
        if (!file.contains("bytes")) continue;
        const std::string crc = file.at("crc32");
        entry.checksum = {file.at("bytes"), 0};
        const auto [end, error] = std::from_chars(crc.data(), crc.data() + crc.size(), entry.checksum->crc32, 16);
        if (error != std::errc{} || end != crc.data() + crc.size()) throw std::invalid_argument("no checksum");
      }
      if (one.contains("journal")) set.journal = file_name(one.at("journal"));
      set.interrupted = one.value("interrupted", "");
    }
    return manifest;
  } catch (const std::exception&) {
    throw schema::InputError(fmt::format("{}: damaged: remove it to take the files beside it as they are", path));
  }
}

std::string manifest_text(const Manifest& manifest) {
  Json sets = Json::array();
  for (const FileSet& set : manifest.sets) {
    Json one{{"files", Json::array()}};
    for (const FileSet::File& file : set.files) {
      Json entry{{"name", file.name}};
      if (file.checksum) {
        entry["bytes"] = file.checksum->bytes;
        entry["crc32"] = fmt::format("{:08x}", file.checksum->crc32);
      }
      one["files"].push_back(std::move(entry));
    }
    if (!set.journal.empty()) one["journal"] = set.journal;
    if (!set.interrupted.empty()) one["interrupted"] = set.interrupted;
    sets.push_back(std::move(one));
  }
  return Json{{"sets", std::move(sets)}}.dump(2) + "\n";
}

bool can_list(const std::string& name) {
  try {
    static_cast<void>(Json(name).dump());
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

bool FileSet::has(std::string_view name) const {
  return name == journal ||
         std::any_of(files.begin(), files.end(), [&](const File& file) { return file.name == name; });
}

const FileSet* Manifest::set_of(std::string_view name) const {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const FileSet& set) { return set.has(name); });
  return found == sets.end() ? nullptr : &*found;
}

}  // namespace kvsim::output
