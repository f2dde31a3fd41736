// Numbers as people read them: few digits, thousands apart, with units.
#pragma once

#include <concepts>
#include <string>

namespace kvsim::results {

/// "1,234,567.8": the digits before the point in threes.
std::string with_commas(std::string digits);
std::string whole(std::integral auto value) {
  return with_commas(std::to_string(value));
}

/// Four significant digits, thousands apart: "1,235", "12.35", "0.1235"; "-" where it is not finite.
std::string figure(double value);
/// "12.3 %"; "-" where it is not finite.
std::string percent(double share);
/// "17.2 ms", "3.35 GB"; "-" where it is not finite.
std::string seconds(double value);
std::string bytes(double value);
/// "1.52x"; "-" where it is not finite.
std::string factor(double value);
/// "± " and the number; empty where there is no interval.
std::string plus_minus(double half_width, std::string (*print)(double) = figure);

}  // namespace kvsim::results
