"""A linear-chain conditional random field over tags (Lafferty et al. 2001): the score of tags y is start[y_1] + sum of the logits of y_t
+ sum of transitions[y_t, y_t+1] + end[y_n]."""
import torch
from torch import nn


class Crf(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))  # from, to
        self.start, self.end = nn.Parameter(torch.zeros(tags)), nn.Parameter(torch.zeros(tags))

    def best(self, logits):
        """The tags [n] with the highest score (Viterbi); logits [n, tags]."""
        score, back = self.start + logits[0], []
        for row in logits[1:]:
            score, before = (score[:, None] + self.transitions).max(0)
            score = score + row
            back.append(before)
        tags = [(score + self.end).argmax()]
        for before in reversed(back):
            tags.append(before[tags[-1]])
        return torch.stack(tags[::-1])

    def loss(self, logits, tags):
        """-log p(tags): logits [n, tags], tags [n]."""
        score = self.start + logits[0]
        for row in logits[1:]:
            score = (score[:, None] + self.transitions).logsumexp(0) + row
        right = self.start[tags[0]] + logits.gather(1, tags[:, None]).sum() + self.transitions[tags[:-1], tags[1:]].sum() + self.end[tags[-1]]
        return (score + self.end).logsumexp(0) - right
