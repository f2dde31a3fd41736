#include "models/schema/json_schema.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/reference_page.h"

namespace kvsim::schema {

std::string make_markdown(const ObjectInfo& info, int level) {
  ReferencePage page;
  page.add(info, info.name);
  std::string out;
  for (const ReferencePage::Section& section : page.sections()) {
    out += fmt::format("{} {}\n\n{}\n", std::string(static_cast<std::size_t>(std::max(level, 1)), '#'), section.title,
                       section.text);
  }
  return out;
}

}  // namespace kvsim::schema
