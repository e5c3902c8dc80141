# Optimism bootstrap of a logistic regression with known resamples: Rscript validate.R (R 4.2, rms, jsonlite).
library(jsonlite)
suppressMessages(library(rms))
lbw <- read.csv("lbw.csv", stringsAsFactors = TRUE)
fit <- lrm(low ~ age + lwt + race + smoke, lbw, x = TRUE, y = TRUE, tol = 1e-14, eps = 1e-12, maxit = 100)
B <- 40
set.seed(1)
found <- validate(fit, B = B, tol = 1e-14, maxit = 100)
set.seed(1)
indices <- t(replicate(B, sample(nrow(lbw), replace = TRUE)))
# The same definitions by glm, which converges further than lrm.
control <- glm.control(epsilon = 1e-15, maxit = 100)
exact <- sapply(seq_len(B), function(b) {
  own <- lbw[indices[b, ], ]
  model <- glm(low ~ age + lwt + race + smoke, binomial, own, control = control)
  line <- glm(lbw$low ~ predict(model, lbw), binomial, control = control)
  unname(coef(line))
})
lines <- rowMeans(exact)
write(toJSON(list(lines = lines, rows = indices - 1, measures = rownames(found), columns = colnames(found), values = unclass(found)[, ]),
             digits = NA), "validate.json")
print(found, digits = 8)
