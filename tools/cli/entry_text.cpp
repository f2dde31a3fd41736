#include "tools/cli/entry_text.h"

#include <fmt/format.h>

#include <cmath>

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
  std::string kv = fmt::format("{} bytes per token", whole(m.kv_bytes_per_token()));
  if (m.window.drops()) {
    kv += fmt::format(" of the last {}, {} of those before", whole(m.window.tokens),
                      whole(m.full_part().kv_bytes_per_token()));
  }
  if (m.indexer.layers > 0) {
    kv += fmt::format(", of which {:.0f} keys of indexers; a token attends to {} of them", m.indexer_bytes_per_token(),
                      whole(m.window.tokens));
  }
  if (m.state.layers > 0) {
    kv += fmt::format("\n# state: {} bytes of each request in {} layers", whole(std::llround(m.state.bytes())),
                      m.state.layers);
  }
  return fmt::format("# parameters: {} ({} used per token)\n# weights: {} bytes ({})\n# KV: {}\n",
                     whole(m.parameters()), whole(m.active_parameters()), whole(m.weight_bytes()),
                     results::bytes(static_cast<double>(m.weight_bytes())), kv);
}

}  // namespace kvsim::cli
