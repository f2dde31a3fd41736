// Prices as results print them: beside every amount, with date and source.
#pragma once

#include <string>
#include <string_view>

#include "models/prices/price_table.h"
#include "tools/results/fields.h"

namespace kvsim::results {

/// "h100-sxm: $2.50 per GPU and hour; mid 2025, assumption: ...".
[[nodiscard]] std::string price_line(std::string_view what, std::string_view per, const models::Price& price);

/// What is paid for, per what, and the price.
struct PriceRow {
  std::string_view what;
  std::string_view per;
  const models::Price* price = nullptr;
};

const Fields<PriceRow>& price_fields();

inline constexpr std::string_view kPerGpuHour = "GPU and hour";
inline constexpr std::string_view kPerGbMonth = "GB and month of 730 h";

}  // namespace kvsim::results
