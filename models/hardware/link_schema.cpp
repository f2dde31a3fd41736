#include "models/hardware/link_schema.h"

namespace kvsim::models {
namespace {

schema::ObjectSchema<LinkSpec> make_schema() {
  using namespace schema;
  ObjectSchema<LinkSpec> s("link", "A link or a storage device: what moves bytes between memories.");
  s.optional("name", &LinkSpec::name, text(), "name in the catalogue");
  s.required("description", &LinkSpec::description, text().non_empty(), "one line for lists");
  s.required("kind", &LinkSpec::kind,
             choice<LinkKind>({{"host", LinkKind::host, "between a GPU and host memory"},
                               {"peer", LinkKind::peer, "between GPUs of one machine"},
                               {"network", LinkKind::network, "between machines"},
                               {"storage", LinkKind::storage, "to a disk or a storage service"}}),
             "what it connects");
  s.required("read", &LinkSpec::read_bytes_per_s, bandwidth().positive(),
             "towards the GPU (host to device, storage read), as large transfers reach it");
  s.required("write", &LinkSpec::write_bytes_per_s, bandwidth().positive(),
             "away from the GPU (device to host, storage write), as large transfers reach it");
  s.optional("latency", &LinkSpec::latency_s, time().non_negative(), "from the last byte sent to its arrival");
  s.optional("setup", &LinkSpec::setup_s, time().non_negative(),
             "of each transfer (descriptor, request), while the one before it moves");
  return s;
}

}  // namespace

const schema::ObjectSchema<LinkSpec>& link_schema() {
  static const schema::ObjectSchema<LinkSpec> schema = make_schema();
  return schema;
}

}  // namespace kvsim::models
