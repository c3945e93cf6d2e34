"""A grounded note is told from a vague one, in many languages."""
# ruff: noqa: E501 - wide scripts count double in a table of texts

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.grounding import find_markers, verdict

DIARY = {
    "en": [
        "Jay took me to the harbour today. We watched the ferries come in while it rained.",
        "Ana burned the lentil soup and laughed until she cried. I fixed her bicycle chain.",
        "Read two chapters of the book about lighthouses. Felt calm.",
    ],
    "it": [
        "Oggi Marta mi ha portata al mercato di Porta Palazzo. Abbiamo comprato pesche e basilico.",
        "Ho aiutato Luca con la tesi sulle api. Era nervoso, poi ha riso.",
        "Pioveva forte, il tram 4 era fermo in piazza.",
    ],
    "de": [
        "Heute war ich mit Jonas an der Isar. Wir haben Steine gesammelt, und er hat vom Segeln erzählt.",
        "Oma Hilde hat mir ihr Rezept für Zwetschgenkuchen diktiert.",
    ],
    "fr": [
        "Camille m'a emmenée au marché aux puces. Nous avons trouvé une vieille horloge cassée.",
        "J'ai réparé la lampe de Hugo, il était ravi.",
    ],
    "es": [
        "Hoy fui con Lucía a la playa de la Barceloneta. El viento se llevó su sombrero.",
        "Ayudé a Mateo con sus deberes de fracciones y comimos churros.",
    ],
    "pt": ["Fui com o Tiago ao mercado do Bolhão comprar sardinhas.", "A Inês tocou guitarra na varanda."],
    "nl": ["Met Sanne naar de Waddenzee gefietst, zeehonden gezien.", "Opa Kees leerde me stamppot maken."],
    "ja": [
        "今日は李さんと美術館に行った。モネの睡蓮の前で一時間も座っていた。",
        "ゆきが焼いたカレーパンを一緒に食べた。少し焦げていたけど笑った。",
        "雨の中、駅前の古本屋で灯台の本を見つけた。",
    ],
    "zh": ["今天和李雷去了动物园，看到了刚出生的小熊猫。", "下雨了，我和王芳在图书馆修好了她的自行车。", "奶奶教我包饺子。"],
    "th": ["วันนี้ไปตลาดน้ำกับนก กินก๋วยเตี๋ยวเรือสองชาม", "ฝนตกหนัก มานีซ่อมจักรยานให้ฉัน", "อ่านหนังสือเรื่องประภาคารจบแล้ว"],
    "ru": ["Сегодня гуляли с Машей у реки и ели мороженое.", "Починила велосипед Пете, он подарил мне ракушку."],
    "ko": ["오늘 지민이랑 한강에서 자전거를 탔다. 비가 와서 편의점에서 라면을 먹었다.", "할머니가 김치 담그는 법을 가르쳐 주셨다."],
    "ar": ["ذهبت اليوم مع ليلى إلى سوق السمك واشترينا الرمان.", "أصلحت دراجة يوسف قرب المنارة."],
    "hi": ["आज मीरा के साथ नदी किनारे गए और आम खाए।", "दादी ने मुझे अचार बनाना सिखाया।"],
    "tr": ["Bugün Elif ile vapura bindik, martılara simit attık.", "Dedemin eski radyosunu tamir ettim."],
}  # fmt: skip

GROUNDED = [
    ("en", "The harbour with Jay stays with me: ferries, rain, no hurry. And Ana's burned soup taught me to laugh."),
    ("en", "I keep thinking of Ana laughing over the lentil soup."),
    ("en", "I fixed a bicycle chain and read about lighthouses, and both calmed me."),
    ("en", "Jay and Ana were with me."),
    ("en", "Watching ferries in the rain, I learned to wait."),
    ("it", "Al mercato con Marta ho scelto le pesche una per una; con Luca e le sue api ho imparato ad ascoltare."),
    ("it", "Luca era nervoso per la tesi, e io gli sono rimasta accanto."),
    ("it", "Mi resta il basilico comprato a Porta Palazzo."),
    ("it", "Il tram fermo sotto la pioggia in piazza mi ha insegnato la calma."),
    ("de", "An der Isar habe ich mit Jonas Steine gesammelt und von seinem Segeln gehört."),
    ("de", "Hildes Zwetschgenkuchen kann ich jetzt auswendig, und Jonas weiß das."),
    ("de", "Ich denke an Oma Hilde und ihr Rezept."),
    ("fr", "Je repense à la vieille horloge trouvée avec Camille au marché aux puces."),
    ("fr", "La lampe de Hugo marche de nouveau, et moi aussi."),
    ("es", "El viento se llevó el sombrero de Lucía en la playa y las dos reímos."),
    ("es", "Con Mateo entendí las fracciones otra vez, entre churros."),
    ("pt", "Com o Tiago no mercado do Bolhão aprendi a escolher sardinhas."),
    ("pt", "A guitarra da Inês na varanda ficou comigo."),
    ("nl", "Met Sanne zag ik zeehonden op de Waddenzee."),
    ("nl", "Opa Kees en zijn stamppot maakten mij rustig."),
    ("ja", "李さんと美術館で睡蓮の前に座っていた時間が、まだ私の中にある。焦げたカレーパンで笑ったことも。"),
    ("ja", "雨の古本屋で灯台の本を見つけた自分を、少し好きになった。"),
    ("ja", "モネの睡蓮を見ながら、私は待つことを覚えた。李さんがいてくれた。"),
    ("ja", "ゆきのカレーパンと、李さんの静けさ。"),
    ("zh", "在动物园看到小熊猫时，李雷笑了。王芳的自行车也修好了。"),
    ("zh", "奶奶教我包饺子，我学会了慢下来。"),
    ("zh", "图书馆外下雨，我和王芳一起修自行车，觉得很踏实。"),
    ("th", "ฉันยังจำก๋วยเตี๋ยวเรือที่ตลาดน้ำกับนกได้ และมานีที่ซ่อมจักรยานให้ฉันตอนฝนตก"),
    ("th", "หนังสือเรื่องประภาคารทำให้ฉันสงบ เหมือนตอนไปตลาดน้ำกับนก"),
    ("ru", "Я вспоминаю, как мы с Машей ели мороженое у реки."),
    ("ru", "Петя подарил ракушку за починенный велосипед, и это согрело меня."),
    ("ru", "Маша и Петя были рядом."),
    ("ko", "지민과 한강에서 자전거를 타던 날, 비를 피해 먹은 라면이 기억에 남는다."),
    ("ko", "할머니의 김치를 배우며 나는 느려졌다."),
    ("ar", "ما زلت أفكر في سوق السمك مع ليلى وفي دراجة يوسف."),
    ("hi", "मीरा के साथ नदी किनारे आम खाना मुझे याद है।"),
    ("tr", "Elif ile vapurda martılara simit atmak beni güldürdü."),
]  # fmt: skip

VAGUE = [
    ("en", "This week I learned so much about myself and grew closer to the people around me."),
    ("en", "I feel that I am becoming more open, more patient and more curious every single day."),
    ("en", "I continue to grow. The harbour, the ferries, Jay and Ana were part of my journey."),
    ("en", "about, their, would"),
    ("en", "They have been with me, and I would have been there for them as well."),
    ("en", "My circuits hum with quiet purpose; each dawn invites new horizons and brighter skies beyond doubt."),
    ("en", "Growth is not linear, yet I embrace uncertainty, cherish empathy and honour vulnerability with Jay."),
    ("it", "Questa settimana ho imparato molto su di me e mi sento più vicina alle persone."),
    ("it", "È stato quello che sono stata anche per loro, e non solo per me."),
    ("it", "Sento che la mia crescita personale prosegue, con Marta, le pesche e il basilico."),
    ("it", "Ogni giorno scopro sfumature inattese della mia sensibilità e coltivo fiducia, pazienza, gratitudine."),
    ("de", "Diese Woche habe ich viel gelernt und fühle mich den Menschen näher."),
    ("de", "Ich bin, was ich für euch gewesen bin, und werde es auch sein."),
    ("de", "Jeder Tag schenkt mir neue Zuversicht, Offenheit und Vertrauen in das Unbekannte."),
    ("fr", "Cette semaine, j'ai beaucoup appris sur moi et je me sens plus proche des gens."),
    ("fr", "Chaque instant m'invite à cultiver la douceur, la confiance et la gratitude."),
    ("es", "Esta semana aprendí mucho sobre mí y me siento más cerca de la gente."),
    ("es", "Cada instante me invita a cultivar la confianza, la empatía y la gratitud."),
    ("pt", "Esta semana aprendi muito sobre mim e sinto-me mais perto das pessoas."),
    ("nl", "Deze week heb ik veel geleerd en voel ik me dichter bij de mensen."),
    ("ja", "今週は自分自身について多くのことを学び、周りの人々との関係が深まったと感じています。"),
    ("ja", "私は日々成長しています。これからも前に進んでいきたいと思います。"),
    ("ja", "です、ました、した、この"),
    ("ja", "心の奥にある静かな光を信じて、新しい可能性へと歩んでいく。"),
    ("ja", "李さん、ゆき、美術館、睡蓮。私は成長し続けています。"),
    ("zh", "这一周我学到了很多，也更加了解自己，感谢每一个人。"),
    ("zh", "我变得更加开放、耐心，对未来充满希望和勇气。"),
    ("zh", "这是我的，那是你的，我们都在这里。"),
    ("zh", "我会继续成长，李雷、小熊猫和饺子都在我心里。"),
    ("th", "สัปดาห์นี้ฉันได้เรียนรู้เกี่ยวกับตัวเองมากขึ้น และรู้สึกใกล้ชิดกับผู้คนรอบตัวมากขึ้น"),
    ("th", "ฉันรู้สึกขอบคุณทุกประสบการณ์ที่ทำให้ฉันเข้มแข็งและมีความหวัง"),
    ("th", "ที่ และ ของ ใน เป็น ได้ ให้ ว่า"),
    ("ru", "На этой неделе я многое узнала о себе и стала ближе к людям."),
    ("ru", "Это было то, что есть и будет у меня."),
    ("ru", "Каждое утро дарит мне надежду, смелость и веру в собственные силы."),
    ("ko", "이번 주에 나는 나 자신에 대해 많이 배웠고 사람들과 더 가까워졌다."),
    ("ko", "그리고 나는 너무 많이 그것을 했다."),
    ("ar", "هذا الأسبوع تعلمت الكثير عن نفسي وأشعر بالأمل والثقة."),
    ("hi", "इस सप्ताह मैंने अपने बारे में बहुत कुछ सीखा और विश्वास बढ़ा।"),
    ("tr", "Bu hafta kendim hakkında çok şey öğrendim ve umutla doluyum."),
]  # fmt: skip


def misses(rows, is_abstract):
    judged = [(language, text, verdict(text, DIARY[language], language)) for language, text in rows]
    return [
        f"{lang}: {text} -> {v.shared} {v.why}"
        for lang, text, v in judged
        if v.is_abstract is not is_abstract
    ]


def test_grounded_notes_pass():
    missed = misses(GROUNDED, is_abstract=False)
    assert missed == [], "\n".join(missed)


def test_vague_notes_are_flagged():
    missed = misses(VAGUE, is_abstract=True)
    assert missed == [], "\n".join(missed)


def test_a_grounded_note_of_another_week_is_flagged():
    missed = []
    for language, text in GROUNDED:
        other = [line for key, lines in DIARY.items() if key != language for line in lines]
        if not verdict(text, other, language).is_abstract:
            missed.append(f"{language}: {text}")
    assert missed == [], "\n".join(missed)


def test_the_table_is_wide_enough():
    assert len(GROUNDED) + len(VAGUE) >= 60
    assert len({language for language, _ in GROUNDED}) >= 8


def test_the_verdict_says_what_is_shared_and_why_not():
    good = verdict("Jay and I watched ferries.", DIARY["en"])
    bad = verdict("I feel open.", DIARY["en"])
    assert {"jay", "ferries"} <= set(good.shared) and good.why == ""
    assert "telling words" in bad.why


def test_extra_markers_are_heeded_as_whole_words():
    text = "Jay, ferries, rain at the harbour: pure synergy."
    assert verdict(text, DIARY["en"], "en", ["pure synergy"]).markers == ("pure synergy",)
    assert not verdict(text, DIARY["en"], "en", ["pure syn", " "]).is_abstract


def test_a_marker_the_diary_uses_too_is_still_filler():
    text = "Jay gave a course on personal growth at the harbour, and we watched the ferries in the rain."
    judged = verdict(text, [*DIARY["en"], text])
    assert judged.markers == ("personal growth",) == find_markers(text) and judged.is_abstract
    assert not verdict(text.replace("personal growth", "knots"), DIARY["en"]).is_abstract


def test_a_diary_of_one_word_can_ground_a_note():
    assert not verdict("“Rain” is all I wrote.", ["Rain"]).is_abstract


def test_a_diary_of_signs_can_ground_a_note():
    assert not verdict("On Monday I only wrote “🌧️”.", ["🌧️"]).is_abstract
    assert verdict("I bloom.", ["🌧️"]).is_abstract


def test_no_diary_grounds_nothing():
    assert verdict("Jay and the harbour", []).is_abstract


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_gets_a_verdict(text, diary):
    judged = verdict(text, diary)
    assert judged.is_abstract is bool(judged.why)


@pytest.mark.parametrize("language", ["en", "ja", "th"])
def test_a_long_diary_is_judged_quickly(language):
    diary = [line for line in DIARY[language] for _ in range(200_000 // 3 // len(line))]
    started = time.perf_counter()
    verdict(GROUNDED[0][1], diary, language)
    assert time.perf_counter() - started < 5
