#include "models/kernels/operators/operator.h"

#include <algorithm>

namespace kvsim::models {

StepOperator listed(const char* name, double seconds, const OperatorLoad& load, const char* binds,
                    const Origin& origin) {
  return {.name = name,
          .seconds = seconds,
          .bytes = load.bytes,
          .flops = load.flops,
          .binds = binds,
          .from = origin.from,
          .source = origin.source,
          .error = origin.error};
}

Origin origin_of(const std::vector<UsedFigure>& figures, const std::string& operation, const std::string& roofline) {
  const auto first = [&figures](const std::string& path) {
    return std::find_if(figures.begin(), figures.end(),
                        [&path](const UsedFigure& f) { return f.name.compare(0, path.size(), path) == 0; });
  };
  const auto table = first("profile.tables." + operation), form = first("profile.fitted." + operation);
  if (table != figures.end()) return {"table", table->source, table->error};
  if (form != figures.end()) return {"form", form->source, form->error};
  const auto rates = first(roofline);
  return {"roofline", rates != figures.end() ? rates->source : schema::Source{}};
}

}  // namespace kvsim::models
