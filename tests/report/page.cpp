#include "tests/report/page.h"

#include "tests/support/well_formed.h"

namespace kvsim::report {
namespace {

/// The page without what lies between; the one occurrence of each must be there.
bool cut(std::string& html, std::string_view begin, std::string_view end) {
  const std::size_t from = html.find(begin);
  if (from == std::string::npos || html.find(begin, from + 1) != std::string::npos) return false;
  const std::size_t to = html.find(end, from);
  if (to == std::string::npos) return false;
  html.erase(from + begin.size(), to - from - begin.size());
  return true;
}

}  // namespace

std::string page_fault(const std::string& html) {
  constexpr std::string_view doctype = "<!doctype html>\n";
  if (!html.starts_with(doctype)) return "no doctype";
  std::string xml = html.substr(doctype.size());
  if (!cut(xml, "<style>", "</style>")) return "not one style";
  if (!cut(xml, "<script>", "</script>")) return "not one script";
  for (std::size_t at = xml.find("<meta "); at != std::string::npos; at = xml.find("<meta ", at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return "a meta without end";
    xml.insert(end, "/");  // HTML closes it by itself
  }
  return testing::xml_fault(xml);
}

std::vector<std::string> values_of(std::string_view html, std::string_view attribute) {
  return all_between(html, " " + std::string(attribute) + "=\"", "\"");
}

std::string between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto all = all_between(text, begin, end);
  return all.empty() ? "" : all.front();
}

std::vector<std::string> all_between(std::string_view text, std::string_view begin, std::string_view end) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at)) {
    at += begin.size();
    const std::size_t to = text.find(end, at);
    if (to == std::string_view::npos) break;
    found.emplace_back(text.substr(at, to - at));
    at = to;
  }
  return found;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace kvsim::report
