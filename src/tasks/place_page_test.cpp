// SPDX-License-Identifier: Apache-2.0
// The page of a plan that is made by hand: what stands in its boxes, and where its lines go.
#include "tasks/place_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "nibble/graph/network_text.h"

namespace nibble::inline tasks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHost = "var(--s0)";
constexpr std::string_view kDevice = "var(--s1)";

Network small_network() {
  return parse_network(R"(
input = [4, 4, 1]
layers = [
  { op = "conv2d", name = "conv", channels = 3, kernel = 3, padding = 1, bias = true },
  { op = "flatten" }, { op = "linear", name = "fc", features = 10 },
  { op = "softmax_cross_entropy", name = "loss" },
])",
                       "small");
}

// The convolution computes on the device, the host does the rest and moves all weights.
StepPlan mixed_plan() {
  using enum TrainPass;
  StepPlan plan;
  plan.devices = {"cpu", "cuda"};
  plan.images = 16;
  const auto add = [&](StepUnit unit, const char* node, Nanoseconds host, Nanoseconds device) {
    plan.graph.group.push_back(plan.graph.units.size());
    plan.graph.units.push_back({unit, node});
    plan.costs.units.push_back({host, device});
  };
  add({0, forward}, "input", 1000, 5000);
  add({1, forward}, "conv", 40'000, 8000);
  add({3, forward}, "fc", 20'000, 30'000);
  add({4, forward}, "loss", 3000, 6000);
  add({3, weight_gradient}, "fc", 11'000, 21'000);
  add({3, input_error}, "fc", 12'000, 22'000);
  add({1, weight_gradient}, "conv", 2'500'000, 9000);
  add({3, update}, "fc", 7000, 17'000);
  add({1, update}, "conv", 4000, 14'000);
  plan.graph.flows = {
      {.tensor = "input.value", .from = 0, .to = {1, 6}, .bytes = 1540},
      {.tensor = "conv.value", .from = 1, .to = {2, 4}, .bytes = 812},
      {.tensor = "fc.value", .from = 2, .to = {3}, .bytes = 164},
      {.tensor = "fc.error", .from = 3, .to = {5, 4}, .bytes = 168, .is_passing = true},
      {.tensor = "conv.error", .from = 5, .to = {6}, .bytes = 2'300'000, .is_passing = true},
      {.tensor = "conv.weight.gradient", .from = 6, .to = {8}, .bytes = 144},
      {.tensor = "conv.bias.gradient", .from = 6, .to = {8}, .bytes = 16},
      {.tensor = "conv.weight", .from = 8, .to = {1}, .bytes = 40, .is_sent = true}};
  plan.costs.links = {LinkCost{500, 100}, LinkCost{700, 100}};
  plan.costs.runs_ahead = {false, true};
  plan.candidates = {{"time line", {0, 1, 0, 0, 0, 0, 1, 0, 0}, 80'000, 90'000}};
  plan.rules = "conv=cuda";
  plan.why = "told so";
  return plan;
}

struct Box {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  std::string colour;
  std::string words;

  bool has(double x, double y, double margin = 0) const {
    return x >= left - margin && x <= left + width + margin && y >= top - margin &&
           y <= top + height + margin;
  }
};

template <class Use>
void for_all(const std::string& html, const std::string& pattern, const Use& use) {
  const std::regex shape(pattern);
  for (std::sregex_iterator at(html.begin(), html.end(), shape), end; at != end; ++at) use(*at);
}

std::vector<Box> boxes_of(const std::string& html, const std::string& kind) {
  std::vector<Box> boxes;
  for_all(html,
          R"re(<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="([^"]+)")re"
          " class=\"" +
              kind + "\"[^>]*><title>([^<]*)</title>",
          [&](const std::smatch& match) {
            boxes.push_back({std::stod(match[1]), std::stod(match[2]), std::stod(match[3]),
                             std::stod(match[4]), match[5], match[6]});
          });
  return boxes;
}

struct Words {
  double x;
  double y;
  std::string colour;
  std::string words;
};

std::vector<Words> texts_of(const std::string& html) {
  std::vector<Words> texts;
  for_all(html, R"re(<text x="([\d.]+)" y="([\d.]+)"[^>]* fill="([^"]+)"[^>]*>([^<]*)</text>)re",
          [&](const std::smatch& match) {
            texts.push_back({std::stod(match[1]), std::stod(match[2]), match[3], match[4]});
          });
  return texts;
}

struct Line {
  double from_x = 0;
  double from_y = 0;
  double to_x = 0;
  double to_y = 0;
  std::string colour;
};

// Of path data as these pictures have it: the first and the last place.
Line line_of(const std::string& path, const std::string& colour) {
  std::istringstream in(path);
  Line line{.colour = colour};
  char step = 0;
  in >> step >> line.from_x >> line.from_y;
  line.to_x = line.from_x;
  line.to_y = line.from_y;
  while (in >> step) {
    double skipped = 0;
    double number = 0;
    if (step == 'C') {
      in >> skipped >> skipped >> skipped >> skipped >> line.to_x >> line.to_y;
    } else if (step == 'H') {
      in >> line.to_x;
    } else if (step == 'v' && in >> number) {
      line.to_y += number;
    } else {
      ADD_FAILURE() << step << " in " << path;
    }
  }
  return line;
}

// By what browsers show of them under the pointer.
std::map<std::string, Line> lines_of(const std::string& html) {
  std::map<std::string, Line> lines;
  for_all(
      html,
      R"re(<path d="([^"]+)"[^>]* stroke="([^"]+)"[^>]*class="crossing"[^>]*><title>([^<]*)<)re",
      [&](const std::smatch& match) { lines[match[3]] = line_of(match[1], match[2]); });
  return lines;
}

class PlacePage : public testing::Test {
 protected:
  // Those of a layer stand in one row, those of a pass in one column.
  const Box& box_of(const std::string& node, TrainPass pass) const {
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      const PlacedUnit& unit = plan_.graph.units[i];
      if (unit.node == node && unit.unit.pass == pass) return boxes_[i];
    }
    throw std::out_of_range(node);
  }

  const StepPlan plan_ = mixed_plan();
  const std::string page_ = plan_page(small_network(), plan_);
  const std::vector<Box> boxes_ = boxes_of(page_, "unit");  // in the order of the graph
};

TEST_F(PlacePage, BoxesHaveTheColourOfTheirDeviceAndTheirCosts) {
  const auto words_in = [&](const Box& box) {
    std::vector<std::string> words;
    for (const Words& each : texts_of(page_)) {
      if (box.has(each.x, each.y) && each.colour != kHost && each.colour != kDevice)
        words.push_back(each.words);
    }
    return words;
  };
  ASSERT_EQ(boxes_.size(), plan_.graph.units.size());
  for (std::size_t i = 0; i < boxes_.size(); ++i)
    EXPECT_EQ(boxes_[i].colour, plan_.best().sides[i] == 1 ? kDevice : kHost) << boxes_[i].words;
  EXPECT_EQ(boxes_[1].words, "conv: 8.0 us on cuda");
  EXPECT_THAT(words_in(boxes_[1]), ElementsAre("8.0 us", "cpu 40.0 us"));
  EXPECT_EQ(boxes_[5].words, "fc: 12.0 us on cpu");
  EXPECT_THAT(words_in(boxes_[5]), ElementsAre("12.0 us", "cuda 22.0 us"));
  EXPECT_THAT(words_in(boxes_[6]), ElementsAre("9.0 us", "cpu 2.50 ms"));
  EXPECT_EQ(box_of("conv", TrainPass::forward).top, box_of("conv", TrainPass::update).top);
  EXPECT_EQ(box_of("conv", TrainPass::update).left, box_of("fc", TrainPass::update).left);
}

TEST_F(PlacePage, LinesGoFromTheMakerToTheReaderWithTheirBytes) {
  using enum TrainPass;
  const std::map<std::string, Line> lines = lines_of(page_);
  std::map<std::string, std::string> colours;  // of the words beside the lines
  for (const Words& each : texts_of(page_)) colours[each.words] = each.colour;
  const auto expect_line = [&](const std::string& words, bool is_from_host, const Box& from,
                               const Box& to) {
    SCOPED_TRACE(words);
    const auto found = lines.find(words + (is_from_host ? " from cpu" : " from cuda"));
    ASSERT_NE(found, lines.end());
    const Line& line = found->second;
    constexpr double kTip = 3;  // what an arrow's head leaves free
    EXPECT_TRUE(from.has(line.from_x, line.from_y)) << line.from_x << " " << line.from_y;
    EXPECT_TRUE(to.has(line.to_x, line.to_y, kTip)) << line.to_x << " " << line.to_y;
    EXPECT_EQ(line.colour, is_from_host ? kHost : kDevice);
    EXPECT_EQ(colours[words], line.colour);
  };
  const Box& conv = box_of("conv", forward);
  expect_line("value 1.5 kB", true, box_of("input", forward), conv);
  expect_line("value 812 B", false, conv, box_of("fc", forward));
  expect_line("error 2.3 MB", true, box_of("fc", input_error), box_of("conv", weight_gradient));
  expect_line("gradient 160 B", false, box_of("conv", weight_gradient), box_of("conv", update));
  expect_line("weights 40 B", true, box_of("conv", update), conv);
  EXPECT_EQ(lines.size(), 5U);  // and what stays on its device has none
}

TEST_F(PlacePage, TheTimeLineHasARowADeviceAndOneOfCopies) {
  std::map<std::string, std::pair<std::string, double>> spans;  // colour and row by words
  for (const Box& each : boxes_of(page_, "span")) spans[each.words] = {each.colour, each.top};
  EXPECT_EQ(spans.size(), plan_.graph.units.size() + 6);
  const auto [host, first] = spans.at("fc forward: 20.0 us");
  const auto [device, last] = spans.at("conv forward: 8.0 us");
  const auto [sender, middle] = spans.at("conv.value: 812 B from cuda, 0.8 us");
  EXPECT_EQ(host, kHost);
  EXPECT_EQ(device, kDevice);
  EXPECT_EQ(sender, kDevice);
  EXPECT_LT(first, middle);
  EXPECT_LT(middle, last);
  EXPECT_EQ(spans.at("conv weight_gradient: 9.0 us"), std::pair(device, last));
  EXPECT_EQ(spans.at("conv update: 4.0 us"), std::pair(host, first));
  EXPECT_EQ(spans.at("conv.error: 2.3 MB from cpu, 230.5 us"), std::pair(host, middle));
}

TEST_F(PlacePage, TablesNameWhatCrosses) {
  const auto row = [](std::initializer_list<std::string_view> cells) {
    std::string html = "<tr>";
    for (const std::string_view each : cells) {
      html += html.size() == 4 ? "<td class=\"name\">" : "<td>";
      html += std::string(each) + "</td>";
    }
    return html + "</tr>";
  };
  EXPECT_THAT(page_, HasSubstr(row({"conv.bias.gradient", "cuda", "cpu", "16 B", "0.7 us"})));
  EXPECT_THAT(page_, HasSubstr(row({"conv.error", "cpu", "cuda", "2.3 MB", "230.5 us"})));
  EXPECT_THAT(page_, HasSubstr(row({"conv", "forward", "cuda", "40.0 us", "8.0 us"})));
  EXPECT_THAT(page_, Not(HasSubstr("fc.value")));
  EXPECT_THAT(page_, HasSubstr("time line, taken"));
  EXPECT_THAT(page_, HasSubstr("--place 'conv=cuda'"));
}

}  // namespace
}  // namespace nibble::inline tasks
