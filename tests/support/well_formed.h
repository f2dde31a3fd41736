// Whether a text is well-formed XML, as far as the SVG files here go: one root, balanced tags, quoted attributes each
// named once, known entities.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kvsim::testing {

/// Empty, or what is wrong.
inline std::string xml_fault(std::string_view xml) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  const auto name_end = [](std::string_view tag, std::size_t from) {
    while (from < tag.size() &&
           (std::isalnum(static_cast<unsigned char>(tag[from])) != 0 || tag[from] == '-' || tag[from] == ':')) {
      ++from;
    }
    return from;
  };
  const auto entities_fault = [](std::string_view text) -> std::string {
    for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
      bool known = false;
      for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
        known = known || text.substr(at, entity.size()) == entity;
      }
      if (!known) return "unknown entity at " + std::string(text.substr(at, 10));
    }
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') return "a control character";
    }
    return {};
  };
  std::size_t at = 0;
  if (xml.substr(0, 2) == "<?") at = xml.find("?>") + 2;
  while (at < xml.size()) {
    const std::size_t begin = xml.find('<', at);
    const std::string_view text = xml.substr(at, begin == std::string_view::npos ? begin : begin - at);
    if (std::string fault = entities_fault(text); !fault.empty()) return fault;
    if (open.empty() && text.find_first_not_of(" \n") != std::string_view::npos) return "text outside the root";
    if (begin == std::string_view::npos) break;
    const std::size_t end = xml.find('>', begin);
    if (end == std::string_view::npos) return "a tag without end";
    std::string_view tag = xml.substr(begin + 1, end - begin - 1);
    at = end + 1;
    if (!tag.empty() && tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected </" + std::string(tag.substr(1)) + ">";
      open.pop_back();
      continue;
    }
    const bool empty = !tag.empty() && tag.back() == '/';
    if (empty) tag.remove_suffix(1);
    std::size_t next = name_end(tag, 0);
    if (next == 0) return "a tag without name";
    const std::string name(tag.substr(0, next));
    std::set<std::string_view> seen;
    while (next < tag.size()) {
      if (tag[next] != ' ') return "no space before an attribute of " + name;
      const std::size_t stop = name_end(tag, ++next);
      if (!seen.insert(tag.substr(next, stop - next)).second) return "an attribute of " + name + " twice";
      if (stop == next || tag.substr(stop, 2) != "=\"") return "a bad attribute of " + name;
      const std::size_t quote = tag.find('"', stop + 2);
      if (quote == std::string_view::npos) return "an attribute of " + name + " without end";
      if (std::string fault = entities_fault(tag.substr(stop + 2, quote - stop - 2)); !fault.empty()) return fault;
      next = quote + 1;
    }
    if (open.empty()) ++roots;
    if (!empty) open.push_back(name);
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return roots == 1 ? "" : "not one root";
}

}  // namespace kvsim::testing
