/** The words of the Explain view in Korean. */

import type { ExplainStrings } from "./explain.en.ts";
import { topicsKo } from "./topics.ko.ts";

const number = new Intl.NumberFormat("ko");

function cells(many: number): string {
  return `셀 ${number.format(many)}개`;
}

export const explainKo: ExplainStrings = {
  title: (block) => `${block} 설명`,
  close: "페이지로 돌아가기",
  stepBack: "한 칸 뒤로",
  step: "한 칸 앞으로",
  play: "재생",
  pause: "일시 정지",
  pinned: "고정됨",
  hiddenByRange: (tensors: string) => `색 범위를 하나로 하면 ${tensors}은(는) 한 가지 색으로만 보입니다.`,
  sharedRange: "줄마다 같은 색 범위",
  legend: { label: "범례", from: "나온 곳", feeds: "가는 곳", winner: "이김", tie: "동점" },
  keys: "화살표로 이동, Enter로 고정, Escape로 해제, S로 한 칸씩, P로 재생",
  loading: "마지막 실행 결과를 불러오는 중…",
  run: "실행",
  notDeclared: (op) => `${op}은(는) 어떤 셀들이 서로 이어지는지 알려 주지 않습니다.`,
  noDependencies: (op) => `${op}의 결과는 다른 텐서의 셀에서 나오지 않습니다.`,
  forward: "순방향",
  gradient: "기울기",
  secondGradient: "2차 기울기",
  addGradient: (block, input) => `${input}에 대한 ${block}의 기울기 추가`,
  noGradient: (op) => `${op}에는 블록 하나로 된 기울기가 없습니다.`,
  input: "입력",
  output: "출력",
  asVolume: "3차원",
  asHeatmap: "히트맵",
  axes: "축",
  notHeld: (count) => `이 텐서에는 ${cells(count)}가 있습니다. 셀 뒤의 숫자는 고정할 때 가져옵니다.`,
  noCursor: "셀을 가리키거나 Tab과 화살표 키로 이동하세요.",

  general: {
    where: ", 단 ",
    mean: "평균",
    cellsOfWindow: "그 창의 셀 수",
    here: "이 셀",
    weight: "가중치",
  },

  rules: {
    sum: (from) => `${from}의 합`,
    added: (from) => `${from}의 합`,
    mean: (from) => `${from}의 평균`,
    shares: (from) => `${from}에서 나눠 받은 몫의 합`,
    product: (from) => `${from}의 곱`,
    max: (from) => `${from}의 최댓값`,
    min: (from) => `${from}의 최솟값`,
    argmax: (from) => `${from}에서 최댓값의 위치`,
    "largest at": (from) => `${from}에서 최댓값의 위치`,
    "smallest at": (from) => `${from}에서 최솟값의 위치`,
    winners: (from) => `${from} 가운데 이 셀이 이긴 것`,
    "winner's": (from) => `${from}에서 이긴 셀이 가진 값`,
    close: (from) => `${from}에서 최댓값과 같은 것들의 합`,
    copy: (from) => `${from}의 복사`,
    apply: (from) => `${from}(으)로 만든 값`,
  },
  times: (regions) => regions.join(" × "),
  and: (regions) => regions.join(", "),
  minus: (region) => ` - ${region}`,
  nothing: "이어지는 셀이 없음",
  at: (cell) => `, 위치 ${cell}`,
  ties: (count) => `, 같은 값이 ${cells(count)} 더 있음`,
  feeds: (region) => `${region}(으)로 이어짐`,
  wins: (count, of) =>
    of === 0
      ? ""
      : count === 0
        ? ", 이긴 곳 없음"
        : `, ${number.format(of)}곳 중 ${number.format(count)}곳에서 이김`,
  unknown: "모름",

  contributions: "어디에서 왔는가",
  gradientOf: (pin) => `이 셀의 기울기, ${pin}`,
  dependents: "어디로 이어지는가",
  cell: "셀",
  product: "곱",
  both: "합",
  weight: "가중치",
  share: "몫",
  sum: "누적 합",
  best: "지금까지 최선",
  running: "지금까지",
  adds: "더하는 값",
  counts: { wins: "이김", ties: "동점", loses: "", counts: "" },
  gives: "결과",
  more: (count) => `외 ${number.format(count)}개`,
  total: "합계",
  divided: (count) => `÷ ${number.format(count)}`,
  shown: "표시된 값",
  equal: "합계가 표시된 값과 같습니다.",
  rounded: "합계가 반올림을 빼면 표시된 값과 같습니다.",
  unequal: (by) => `합계가 표시된 값과 ${by}만큼 다릅니다.`,
  opGives: (op) => `${op}의 결과`,
  clipped: (outside, window) =>
    `창의 셀 ${number.format(window)}개 가운데 ${number.format(outside)}개는 텐서 밖에 있어 세지 않습니다.`,
  divisor: (count) => `평균은 실제로 있는 ${cells(count)}로 냅니다.`,
  clippedShares: (clipped, windows, count) =>
    `여기 창 ${number.format(windows)}개 가운데 ${number.format(clipped)}개가 텐서 밖으로 나갑니다. 돌아오는 값은 ${number.format(count)}이 아니라 실제로 있는 셀 수로 나눕니다.`,
  truncatedMean: "평균은 0 쪽으로 잘라 정수로 만듭니다.",
  quantized: "숫자는 양자화된 코드입니다. 코드마다 그것이 뜻하는 수를 옆에 적었습니다.",
  quantizedSum:
    "숫자는 양자화된 코드입니다. 코드가 뜻하는 수를 곱해 더하고, 합을 가장 가까운 코드로 반올림합니다.",
  firstOfTies: (count) => `${cells(count)}의 크기가 같습니다. 행 우선 순서로 첫째를 택합니다.`,
  allOfTies: (count) => `${cells(count)}가 0.00001 이내로 최댓값과 같습니다. 저마다 기울기 전부를 받습니다.`,
  tooMany: (count) => `여기서 더하기에는 너무 많습니다. 처음 ${number.format(count)}개입니다.`,
  differences: "TensorFlow와 다른 점",
  differsHere: "여기",
  differsElsewhere: "이 셀이 아닌 곳:",
  differsInCalls: "일반적으로:",
  inEnglish: "펼친 설명은 연산 문서에 있는 영어 그대로입니다.",
  topics: topicsKo,
  affects: {
    nan: "여기로 이어지는 수 가운데 NaN이 있습니다.",
    "later nan": "여기 창에 첫 셀이 아닌 NaN이 있습니다.",
    "nan wins": "이 셀은 NaN이며 창에서 이깁니다.",
    "inf wins": "이 셀은 무한대이며 창에서 이깁니다.",
    "-inf": "여기 창에는 음의 무한대뿐입니다.",
    "padded -inf": "이 창은 패딩에 걸쳐 있고 음의 무한대뿐입니다.",
    tie: "이 셀은 0.00001 이내로 창의 최댓값과 같지만 첫째가 아닙니다.",
    padding: "여기서 NaN이나 무한대가 패딩과 만납니다.",
    "no cell": "이 창에는 실제 셀이 없습니다.",
    orig_output: "orig_output이 이 창의 최댓값이 아닙니다.",
    cut: "가장 가까운 정수는 다른 수입니다.",
    "below 0": "이 창은 패딩에 걸쳐 있고 0의 코드가 없습니다.",
    half: "여기서는 여러 수를 반정밀도로 더합니다.",
    "later image": "배치의 첫 이미지가 아닙니다.",
    apart: "보폭이 창보다 크고 패딩이 SAME입니다.",
    "channel windows": "창이 채널에 걸쳐 있고 공간에 보폭이 있습니다.",
    layout: "TensorFlow 커널이 받지 않는 배치나 패딩입니다.",
    dilated: "이 블록에는 팽창이나 그룹이 있습니다.",
  },

  check: "유한 차분으로 확인",
  checking: "확인하는 중…",
  checked: (given, slope) => `기울기 ${given}, 경사 ${slope}`,
  agree: "서로 맞습니다.",
  disagree: "서로 맞지 않습니다.",
  notComparable: "여기에는 견줄 경사가 없습니다.",
  noSlope: {
    "not finite": () => "이 값은 유한하지 않습니다.",
    "non-finite result": () => "중간에 NaN이나 무한대가 있습니다.",
    "two slopes": ({ below, above }) =>
      `이 값 아래에서는 ${below}, 위에서는 ${above}입니다. 동점에서는 조금만 크거나 작아도 어느 셀을 택할지 달라집니다.`,
    integers: () => "정수라서 조금 움직여도 변하지 않습니다.",
    "random op": ({ about: [op] }) => `${op}이(가) 뽑은 결과이며, 부를 때마다 새로 뽑습니다.`,
    "unknown input": ({ about: [op, input] }) =>
      `${op}의 ${input}을(를) 알 수 없습니다. 이 기울기의 ${op} 블록을 추가하고 연결하세요.`,
    "too large": ({ about: [, most] }) =>
      `셀이 ${number.format(Number(most))}개보다 많은 텐서는 다시 계산하기에 너무 큽니다. 입력을 줄이세요.`,
  },
};
