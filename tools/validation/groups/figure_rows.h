// Rows of one group, all from one source: published factors and published orders, with what they take for granted.
#pragma once

#include <string>
#include <vector>

#include "tools/validation/figure.h"

namespace kvsim::validation {

class FigureRows {
 public:
  /// `order`: what is said of rows for which only an order is published.
  FigureRows(std::string group, std::string source, std::vector<std::string> assumptions, std::string order);

  /// A factor that is published as a range.
  Figure& within(const std::string& name, std::string what, double low, double high, double simulated);
  /// What is published is that one is smaller.
  Figure& less(const std::string& name, std::string what, double than, double simulated);
  /// Nothing is published that it could be judged by.
  Figure& prediction(const std::string& name, std::string what, double simulated);
  /// With a tolerance of 0, to be set by the caller. Valid until the next row.
  Figure& add(const std::string& name, std::string what, double expected, double simulated);

  std::vector<Figure> take() { return std::move(figures_); }

 private:
  std::string group_, source_, order_;
  std::vector<std::string> assumptions_;
  std::vector<Figure> figures_;
};

}  // namespace kvsim::validation
