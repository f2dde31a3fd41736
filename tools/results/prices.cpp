#include "tools/results/prices.h"

#include <fmt/format.h>

#include "tools/results/provenance.h"

namespace kvsim::results {

std::string price_line(std::string_view what, std::string_view per, const models::Price& price) {
  return fmt::format("{}: ${:.2f} per {}; {}, {}{}", what, price.usd.value, per,
                     price.date.empty() ? "no date given" : price.date, source_word(price.usd.source.kind),
                     price.usd.source.reference.empty() ? "" : ": " + price.usd.source.reference);
}

Fields<Priced> price_fields() {
  using P = Priced;
  return {{"what", {kText, "what the price is of"}, &P::what},
          {"usd", {kDollars, kLower, "the price"}, [](const P& p) { return p.price.usd.value; }},
          {"per", {kText, "for how much, and how long"}, &P::per},
          {"date", {kText, "when it was asked"}, [](const P& p) { return p.price.date; }},
          {"source",
           {kText, "what kind of source it is from"},
           [](const P& p) { return source_word(p.price.usd.source.kind); }},
          {"reference", {kText, "the source"}, [](const P& p) { return p.price.usd.source.reference; }}};
}

}  // namespace kvsim::results
