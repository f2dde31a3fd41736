#include "models/catalogue/catalogue_text.h"

#include <algorithm>

#include "models/schema/yaml.h"

namespace kvsim::models {
namespace {

constexpr std::size_t kIndent = 2;  // of the names of entries

/// The key that a line (its end included) begins with `indent` blanks in; empty where it is a comment, blank or further
/// in.
std::string_view key_at(std::string_view line, std::size_t indent) {
  if (line.substr(0, line.find('\n')).size() <= indent || line.find_first_not_of(' ') != indent || line[indent] == '#')
    return {};
  return line.substr(indent, line.find(':') - indent);
}

}  // namespace

std::vector<EntryText> entry_texts(std::string_view file, const std::string& path) {
  const schema::Origin source(path);
  std::vector<EntryText> entries;
  std::string_view section;
  int line_number = 0;
  for (std::size_t begin = 0; begin < file.size();) {
    const std::size_t end = std::min(file.find('\n', begin), file.size() - 1) + 1;
    const std::string_view line = file.substr(begin, end - begin);
    ++line_number;
    if (const std::string_view key = key_at(line, 0); !key.empty()) {
      section = key;
    } else if (const std::string_view name = key_at(line, kIndent); !name.empty()) {
      entries.push_back({section, name, line, source.at(line_number, 1), source.at(line_number, kIndent + 1)});
    } else if (!entries.empty() && entries.back().section == section) {
      std::string_view& text = entries.back().text;
      text = {text.data(), text.size() + line.size()};
    }
    begin = end;
  }
  return entries;
}

schema::ConfigNode read_entry(const EntryText& entry) {
  return schema::read_yaml(entry.text, entry.begin).entries().front().value;
}

}  // namespace kvsim::models
