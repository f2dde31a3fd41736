#include "tools/cli/entry_text.h"

#include <fmt/format.h>

#include "models/schema/yaml.h"
#include "tools/results/numbers.h"

namespace kvsim::cli {

std::string entry_text(models::EntryKind kind, const std::string& name, schema::ConfigNode entry) {
  entry.erase("name");
  schema::ConfigNode section = schema::ConfigNode::map();
  section.append(name, std::move(entry));
  schema::ConfigNode file = schema::ConfigNode::map();
  file.append(std::string(models::plural(kind)), std::move(section));
  return schema::to_yaml(file);
}

std::string model_facts(const models::LlmSpec& m) {
  using results::whole;
  return fmt::format("# parameters: {} ({} used per token)\n# weights: {} bytes ({})\n# KV: {} bytes per token\n",
                     whole(m.parameters()), whole(m.active_parameters()), whole(m.weight_bytes()),
                     results::bytes(static_cast<double>(m.weight_bytes())), whole(m.kv_bytes_per_token()));
}

}  // namespace kvsim::cli
