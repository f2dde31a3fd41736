#include "tools/results/prices.h"

#include <fmt/format.h>

#include "tools/results/provenance.h"

namespace kvsim::results {

std::string price_line(std::string_view what, std::string_view per, const models::Price& price) {
  return fmt::format("{}: ${:.2f} per {}; {}, {}{}", what, price.usd.value, per,
                     price.date.empty() ? "no date given" : price.date, source_word(price.usd.source.kind),
                     price.usd.source.reference.empty() ? "" : ": " + price.usd.source.reference);
}

const Fields<PriceRow>& price_fields() {
  static const Fields<PriceRow> fields{
      {"what", {kText, "what the price is for: a machine's GPU, dram or ssd"}, &PriceRow::what},
      {"usd",
       {kDollars, kLower, "the price, for what stands under per"},
       [](const PriceRow& r) { return r.price->usd.value; }},
      {"per", {kText, "what one price is paid for"}, &PriceRow::per},
      {"date",
       {kText, "when the price held; empty where the table does not say"},
       [](const PriceRow& r) { return r.price->date; }},
      {"source",
       {kText, "the kind of source that the price is from"},
       [](const PriceRow& r) { return source_word(r.price->usd.source.kind); }},
      {"reference", {kText, "where the price was found"}, [](const PriceRow& r) {
         return r.price->usd.source.reference;
       }}};
  return fields;
}

}  // namespace kvsim::results
