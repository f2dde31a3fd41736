// Prices behind the costs of machines.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/provenance.h"

namespace kvsim::results {

std::optional<PriceRow> node_price(const serving::ClusterConfig& cluster) {
  if (!cluster.node || !cluster.node->usd_per_hour) return std::nullopt;
  return PriceRow{fmt::format("node of {} x {}", cluster.node->gpus, cluster.uniform().gpu.name),
                  kPerNodeHour,
                  {{*cluster.node->usd_per_hour, {schema::SourceKind::scenario, "cluster.node.price"}}, {}}};
}

std::vector<PriceRow> machine_prices(const serving::ClusterConfig& cluster, const models::PriceTable& prices) {
  if (auto node = node_price(cluster)) return {*std::move(node)};
  std::vector<PriceRow> rows;
  for (const serving::GroupConfig* group : serving::kinds(cluster)) {
    const std::string& gpu = group->gpu.name;
    const models::Price* price = prices.gpu(gpu);
    const bool known = std::any_of(rows.begin(), rows.end(), [&gpu](const PriceRow& row) { return row.what == gpu; });
    if (price != nullptr && !known) rows.push_back({gpu, kPerGpuHour, *price});
  }
  return rows;
}

std::vector<std::string> price_lines(const std::vector<PriceRow>& rows) {
  using Groups = std::vector<std::pair<std::string, std::string>>;
  Groups units, origins;
  const auto put = [](Groups& groups, const std::string& key, const std::string& item) {
    for (auto& [known, items] : groups) {
      if (known != key) continue;
      items += ", " + item;
      return;
    }
    groups.emplace_back(key, item);
  };
  bool from_table = false;
  for (const PriceRow& row : rows) {
    const std::string name = row.what == "dram" ? "host memory" : row.what == "ssd" ? "SSD" : row.what;
    const models::Price& price = row.price;
    const bool of_scenario = price.usd.source.kind == schema::SourceKind::scenario;
    from_table = from_table || !of_scenario;
    put(units, std::string(row.per), fmt::format("{} ${:.2f}", name, price.usd.value));
    put(origins,
        of_scenario ? price.usd.source.reference
                    : fmt::format("{}, {}", price.date.empty() ? "no date given" : price.date,
                                  source_word(price.usd.source.kind)),
        name);
  }
  std::vector<std::string> lines;
  for (const auto& [unit, prices] : units) lines.push_back(fmt::format("{} per {}", prices, unit));
  std::string line;
  for (const auto& [origin, names] : origins) {
    line += fmt::format("{}{}{}", line.empty() ? "" : "; ", origin, origins.size() > 1 ? ": " + names : "");
  }
  if (from_table) line += "; give yours with --prices FILE";
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string unpriced_line(const serving::ClusterConfig& cluster, const models::PriceTable& prices,
                          std::string_view columns) {
  if (node_price(cluster)) return {};
  std::vector<std::string> unpriced;
  for (const serving::GroupConfig* group : serving::kinds(cluster)) {
    if (prices.gpu(group->gpu.name) == nullptr) unpriced.push_back(group->gpu.name);
  }
  if (unpriced.empty()) return {};
  return fmt::format("{}: no price in the table, so its $ {} empty: give one with --prices FILE",
                     fmt::join(unpriced, ", "), columns);
}

const Fields<PriceRow>& price_fields() {
  static const Fields<PriceRow> fields{
      {"what", {kText, "what the price is for: a machine's GPU, a node with all in it, dram or ssd"}, &PriceRow::what},
      {"usd",
       {kDollars, kLower, "the price, for what stands under per"},
       [](const PriceRow& r) { return r.price.usd.value; }},
      {"per", {kText, "what one price is paid for"}, &PriceRow::per},
      {"date",
       {kText, "when the price held; empty where the table does not say"},
       [](const PriceRow& r) { return r.price.date; }},
      {"source",
       {kText, "the kind of source that the price is from"},
       [](const PriceRow& r) { return source_word(r.price.usd.source.kind); }},
      {"reference", {kText, "where the price was found"}, [](const PriceRow& r) {
         return r.price.usd.source.reference;
       }}};
  return fields;
}

}  // namespace kvsim::results
