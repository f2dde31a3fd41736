#include "tools/results/prices.h"

#include <fmt/format.h>

#include "tools/results/provenance.h"

namespace kvsim::results {

std::string price_line(std::string_view what, std::string_view per, const models::Price& price) {
  return fmt::format("{}: ${:.2f} per {}; {}, {}{}", what, price.usd.value, per,
                     price.date.empty() ? "no date given" : price.date, source_word(price.usd.source.kind),
                     price.usd.source.reference.empty() ? "" : ": " + price.usd.source.reference);
}

Json price_json(std::string_view what, std::string_view per, const models::Price& price) {
  return {{"what", what},
          {"usd", price.usd.value},
          {"per", per},
          {"date", price.date},
          {"source", source_word(price.usd.source.kind)},
          {"reference", price.usd.source.reference}};
}

}  // namespace kvsim::results
