#include "models/prices/price_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/object_schema.h"
#include "models/schema/spelling.h"
#include "models/schema/yaml.h"
#include "price_files.h"  // generated: prices.yaml

namespace kvsim::models {
namespace {

schema::ObjectSchema<Price> price_schema(const schema::ScalarSpec& unit, const char* of) {
  using namespace schema;
  ObjectSchema<Price> s("price", "A price with its date and source.");
  s.shorthand("price");
  s.required("price", &Price::usd, unit.non_negative(), of);
  s.optional("date", &Price::date, text().non_empty(), "when it held: year, or year and month");
  return s;
}

void check_known(const PriceTable& table, const schema::ConfigNode& gpus, std::span<const std::string> known) {
  if (known.empty()) return;
  for (const auto& entry : gpus.entries()) {
    if (table.gpus.contains(entry.key) || std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    throw schema::InputError(entry.key_origin, "gpus." + entry.key,
                             fmt::format("no GPU of the catalogue, or of this scenario's "
                                         "include files, has the name \"{}\"{}",
                                         entry.key, schema::suggest(entry.key, known)));
  }
}

void change_gpus(PriceTable& table, const schema::ConfigNode& gpus, std::span<const std::string> known) {
  static const auto schema = price_schema(schema::price(), "rent of one GPU");
  if (!gpus.is_map()) {
    throw schema::InputError(gpus.origin(), "gpus",
                             fmt::format("expected a map of GPUs to prices, found {}", gpus.describe()));
  }
  check_known(table, gpus, known);
  for (const auto& entry : gpus.entries()) {
    table.gpus.insert_or_assign(entry.key, schema.parse(entry.value, {"gpus." + entry.key, nullptr}));
  }
}

}  // namespace

const Price* PriceTable::gpu(std::string_view name) const {
  const auto found = gpus.find(name);
  return found == gpus.end() ? nullptr : &found->second;
}

PriceTable PriceTable::built_in() {
  PriceTable table;
  for (const auto& [path, text] : embedded::price_files()) table.change(schema::read_yaml(text, std::string(path)));
  return table;
}

void PriceTable::change(const schema::ConfigNode& document, std::span<const std::string> known_gpus) {
  static const auto memory_schema = price_schema(schema::storage_price(), "of one decimal GB for a month of 730 h");
  if (!document.is_map()) {
    throw schema::InputError(document.origin(), fmt::format("expected a map of prices, found {}", document.describe()));
  }
  PriceTable next = *this;
  for (const auto& entry : document.entries()) {
    if (entry.key == "gpus") {
      change_gpus(next, entry.value, known_gpus);
    } else if (entry.key == "dram") {
      next.dram = memory_schema.parse(entry.value, {entry.key, nullptr});
    } else if (entry.key == "ssd") {
      next.ssd = memory_schema.parse(entry.value, {entry.key, nullptr});
    } else {
      const std::vector<std::string> known{"gpus", "dram", "ssd"};
      throw schema::InputError(entry.key_origin,
                               fmt::format("unknown key \"{}\"{}", entry.key, schema::suggest(entry.key, known)));
    }
  }
  *this = std::move(next);
}

void PriceTable::change_by_file(const std::string& path, std::span<const std::string> known_gpus) {
  change(schema::read_yaml_file(path), known_gpus);
}

}  // namespace kvsim::models
