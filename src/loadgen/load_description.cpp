// SPDX-License-Identifier: Apache-2.0
// A run as JSON.
#include "loadgen/load_description.h"

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "run_folder/provenance.h"

namespace nibble::inline loadgen {

std::string to_json(const LoadDescription& description) {
  const LoadRunOptions& options = description.options;
  const nlohmann::ordered_json json = {
      {"model", options.model.string()},
      {"weights_hash", hex(description.weights)},
      {"data", options.data},
      {"split", options.split},
      {"scenario", name_of(options.scenario)},
      {"mode", name_of(options.mode)},
      {"benchmark", options.benchmark},
      {"user_conf", options.user_conf.string()},
      {"audit", options.audit.string()},
      {"settings", options.settings},
      {"device", options.device},
      {"devices_beside", options.devices_beside},
      {"start_from", options.start_from == BufferPlace::device ? "device" : "host"},
      {"batch", description.most_samples},
      {"longest_wait_ms", description.longest_wait_ms},
      {"in_time_for_ms", description.in_time_for_ms},
      {"lanes", description.lanes},
      {"threads_of_a_batch", description.threads},
      {"expected_queries_per_second", description.expected_rate},
      {"no_submission_because", description.obstacle}};
  return settings_json(this_run(), json.dump());
}

}  // namespace nibble::inline loadgen
