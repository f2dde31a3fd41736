#include "planner/reuse/load_path.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/error.h"
#include "models/schema/units.h"

namespace kvsim::planner {

using schema::InputError;

LoadPath load_path(const serving::ServingConfig& config, const std::string& tier) {
  const serving::ClusterConfig& cluster = config.cluster;
  const models::LinkSpec& link = cluster.host_link;
  LoadPath path;
  path.tier = tier;
  path.link = link.name;
  path.bytes_per_s = link.read_bytes_per_s.value * static_cast<double>(cluster.tensor_parallel);
  path.fixed_s = link.setup_s.value + link.latency_s.value;
  if (tier == "host") return path;
  const auto named = [&](const serving::StorageTierConfig& t) { return t.name == tier; };
  const auto at = std::find_if(cluster.storage.begin(), cluster.storage.end(), named);
  if (at == cluster.storage.end()) {
    std::vector<std::string> names{"host"};
    for (const serving::StorageTierConfig& t : cluster.storage) names.push_back(t.name);
    throw InputError(fmt::format("--tier {}: there is no such tier: expected {}", tier, fmt::join(names, ", ")));
  }
  path.by_storage = at->read_bytes_per_s < path.bytes_per_s;
  path.bytes_per_s = std::min(path.bytes_per_s, at->read_bytes_per_s);
  path.fixed_s += at->latency_s;
  return path;
}

models::LinkSpec link_asked_for(const std::string& text, const models::LinkSpec& own,
                                const models::Catalogue& catalogue) {
  if (catalogue.contains(models::EntryKind::link, text)) return catalogue.link(text);
  const bool number = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  if (!number) {
    throw InputError(fmt::format(
        "--link {}: neither a link of the catalogue (kvsim list links) nor a bandwidth of one GPU such as 5 GB/s",
        text));
  }
  models::LinkSpec link = own;
  link.name = "a link of " + text;
  try {
    link.read_bytes_per_s.value = schema::parse_bandwidth(text);
  } catch (const schema::UnitError& e) {
    throw InputError(fmt::format("--link {}: {}", text, e.what()));
  }
  if (!(link.read_bytes_per_s.value > 0)) {
    throw InputError(fmt::format("--link {}: expected a bandwidth above 0, such as 5 GB/s", text));
  }
  return link;
}

}  // namespace kvsim::planner
